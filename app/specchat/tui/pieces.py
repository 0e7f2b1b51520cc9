"""Rounds as pieces of text, each with the ink that says what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from specchat.rendering import on_one_line
from specchat.terminal import TerminalFilter
from specchat_engine.rounds import DraftedToken, Outcome, Round, TokenKind

FOLD_ABOVE = 2
"""The most discarded tokens shown one by one; a longer run becomes `⋯`."""

TAB = "    "


class Ink(StrEnum):
    """How a piece of an answer is drawn: an outcome of a drafted token, or a kind of the target's own token."""

    ACCEPTED = "accepted"
    BONUS = "bonus"
    CORRECTION = "correction"
    REJECTED = "rejected"
    DISCARDED = "discarded"
    PLAIN = "plain"

    @property
    def emitted(self) -> bool:
        """Whether text in this ink belongs to the answer."""
        return self not in (Ink.REJECTED, Ink.DISCARDED)


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text in one ink, safe for a terminal; only emitted text may hold line ends."""

    text: str
    ink: Ink


class Inker:
    """Turns the rounds of one answer, in order, into pieces; what was thrown away comes before its correction."""

    __slots__ = ("_filter",)

    def __init__(self) -> None:
        self._filter = TerminalFilter()

    def pieces(self, event: Round) -> Iterator[Piece]:
        """The pieces of one round in reading order."""
        discarded: list[DraftedToken] = []
        for token in event.drafted:
            if token.outcome is Outcome.ACCEPTED:
                yield from self._emitted(token.text, Ink.ACCEPTED)
            elif token.outcome is Outcome.REJECTED:
                yield from _thrown_away(token.text, Ink.REJECTED)
            else:
                discarded.append(token)
        if len(discarded) > FOLD_ABOVE:
            yield Piece("⋯", Ink.DISCARDED)
        else:
            for token in discarded:
                yield from _thrown_away(token.text, Ink.DISCARDED)
        if event.token.kind is not TokenKind.NONE:
            yield from self._emitted(event.token.text, Ink(event.token.kind.value))

    def _emitted(self, text: str, ink: Ink) -> Iterator[Piece]:
        safe = self._filter.feed(text).replace("\t", TAB)
        if safe:
            yield Piece(safe, ink)


def _thrown_away(text: str, ink: Ink) -> Iterator[Piece]:
    """A token that never became text: line ends and bare spaces are shown as signs, since a stroke needs something."""
    safe = on_one_line(text)
    if not safe:
        return
    if not safe.strip():
        safe = "␣" * len(safe)
    yield Piece(safe, ink)
