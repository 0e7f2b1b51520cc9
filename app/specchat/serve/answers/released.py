"""Decides how much of an answer's text may be sent: what may be the beginning of a stop string waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specchat.engine_process.protocol import Position
from specchat_engine.answers.parts import held_back


@dataclass(frozen=True, slots=True)
class Portion:
    """Text that may be sent, with the log-probabilities of the tokens that end in it."""

    text: str = ""
    positions: tuple[Position, ...] = ()


@dataclass(slots=True)
class Releasing:
    """Takes the texts of an answer's tokens, gives the text that no stop string can cut any more.

    A token without text waits for the next one: it may be the mark that ends an answer, which is not part of it. It is
    sent all the same if the answer `sends_end`.
    """

    stop: tuple[str, ...] = ()
    sends_end: bool = False
    sent: int = 0
    _held: str = ""
    _waiting: list[tuple[int, str, Position | None]] = field(default_factory=list)

    def feed(self, texts: Sequence[str], positions: Sequence[Position] = ()) -> Portion:
        """Takes tokens, with their log-probabilities if these were asked for; gives what is certain now."""
        known: Sequence[Position | None] = positions or [None] * len(texts)
        for text, position in zip(texts, known, strict=True):
            self._waiting.append((self.sent + len(self._held), text, position))
            self._held += text
        certain = self._certain()
        text, self._held = self._held[:certain], self._held[certain:]
        self.sent += certain
        return Portion(text, self._positions(self.sent, at_the_end=False))

    def finish(self, whole: str) -> Portion:
        """Gives the rest of an answer that is complete; `whole` is its text, cut where a stop string began."""
        is_cut = len(whole) < self.sent + len(self._held)
        text, self.sent, self._held = whole[self.sent :], len(whole), ""
        end = len(whole) + (self.sends_end and not is_cut)
        return Portion(text, self._positions(end, at_the_end=True))

    def _certain(self) -> int:
        """The length of the text before a stop string, or before an end that may begin one."""
        indexes = [index for stop in self.stop if (index := self._held.find(stop)) >= 0]
        return min(indexes) if indexes else len(self._held) - held_back(self._held, self.stop)

    def _positions(self, limit: int, *, at_the_end: bool) -> tuple[Position, ...]:
        """The tokens whose text ends before a limit; at the answer's end those that begin before it."""

        def is_out(start: int, text: str) -> bool:
            return start < limit if at_the_end else start + max(len(text), 1) <= limit

        out = tuple(position for start, text, position in self._waiting if position and is_out(start, text))
        self._waiting = [] if at_the_end else [token for token in self._waiting if not is_out(*token[:2])]
        return out
