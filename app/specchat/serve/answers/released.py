"""Decides how much of an answer's text may be sent: what may be the beginning of a stop string waits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from specchat.serve.protocol import Position
from specchat_engine.answers.parts import held_back


@dataclass(frozen=True, slots=True)
class Emitted:
    """A token's text and, if they were asked for, its log-probabilities."""

    text: str
    position: Position | None = None


@dataclass(frozen=True, slots=True)
class Portion:
    """Text that may be sent, with the log-probabilities of the tokens that end in it."""

    text: str = ""
    positions: tuple[Position, ...] = ()


@dataclass(slots=True)
class Releasing:
    """Takes the tokens of an answer, gives the text that no stop string can cut any more.

    A token without text waits for the next one: it may be the mark that ends an answer, which is no part of it. It is
    told all the same if the answer `tells_end`.
    """

    stop: tuple[str, ...] = ()
    tells_end: bool = False
    sent: int = 0
    _held: str = ""
    _waiting: list[tuple[int, Emitted]] = field(default_factory=list)

    def feed(self, tokens: Sequence[Emitted]) -> Portion:
        """Takes tokens; gives what is certain now."""
        for token in tokens:
            self._waiting.append((self.sent + len(self._held), token))
            self._held += token.text
        certain = self._certain()
        text, self._held = self._held[:certain], self._held[certain:]
        self.sent += certain
        return Portion(text, self._positions(self.sent, at_the_end=False))

    def finish(self, whole: str) -> Portion:
        """What is left of an answer that is complete; `whole` is its text, cut where a stop string began."""
        is_cut = len(whole) < self.sent + len(self._held)
        text, self.sent, self._held = whole[self.sent :], len(whole), ""
        end = len(whole) + (self.tells_end and not is_cut)
        return Portion(text, self._positions(end, at_the_end=True))

    def _certain(self) -> int:
        """The length of the text before a stop string, or before an end that may begin one."""
        found = [place for stop in self.stop if (place := self._held.find(stop)) >= 0]
        return min(found) if found else len(self._held) - held_back(self._held, self.stop)

    def _positions(self, place: int, *, at_the_end: bool) -> tuple[Position, ...]:
        """The tokens whose text ends before a place; at the answer's end those that begin before it."""

        def is_out(start: int, token: Emitted) -> bool:
            return start < place if at_the_end else start + max(len(token.text), 1) <= place

        out = [token.position for start, token in self._waiting if is_out(start, token) and token.position]
        self._waiting = (
            [] if at_the_end else [(start, token) for start, token in self._waiting if not is_out(start, token)]
        )
        return tuple(out)


def emitted_tokens(texts: Sequence[str], positions: Sequence[Position]) -> list[Emitted]:
    """The tokens of a round; without log-probabilities there are no positions."""
    known: list[Position | None] = [*positions] or [None] * len(texts)
    return [Emitted(text, position) for text, position in zip(texts, known, strict=True)]
