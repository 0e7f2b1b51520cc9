"""Rounds as pieces of text, each with an ink that shows its outcome."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import NamedTuple

from rich.text import Text

from specchat.terminal.filter import TerminalFilter, clean
from specchat.terminal.palette import LOOKS, strands
from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, TokenKind

FOLD_ABOVE = 2
"""The largest number of discarded tokens shown one by one; a longer run becomes `⋯`."""

TAB = "    "

UNKNOWN = "▯"
"""Stands for a token that is not in the answer and whose text is not known."""

OPEN_LINK = "open_link"
"""The action of a click on a link."""

MARKS = ("\ue000", "\ue001")
"""Private characters around each match of a search, until it is drawn."""


class Ink(StrEnum):
    """How a piece of an answer is drawn: the outcome of a drafted token, or the kind of the target's own token."""

    ACCEPTED = "accepted"
    BONUS = "bonus"
    CORRECTION = "correction"
    REJECTED = "rejected"
    DISCARDED = "discarded"
    PLAIN = "plain"

    @property
    def emitted(self) -> bool:
        """Whether text in this ink belongs to the answer."""
        return self not in _NOT_IN_ANSWER


class Clickable(NamedTuple):
    """The ink of clickable text: its style in the theme's words, and the action and argument of a click."""

    style: str
    action: str
    argument: str = ""


_NOT_IN_ANSWER = (Ink.REJECTED, Ink.DISCARDED)


class Piece(NamedTuple):
    """A run of text in one ink, safe for a terminal. Only emitted text may contain line ends.

    Text that does not come from a round has a style in the theme's words instead: `bold $text-primary`. `tokens` is the
    number of tokens in this piece; `⋯` stands for several.
    """

    text: str
    ink: Ink | Clickable | str
    tokens: int = 1

    @property
    def emitted(self) -> bool:
        """Whether this text belongs to the answer."""
        return not (isinstance(self.ink, Ink) and self.ink in _NOT_IN_ANSWER)


def shown(text: str) -> str:
    """A whole text, filtered for the terminal, with tabs as spaces."""
    return clean(text).replace("\t", TAB)


class Inker:
    """Turns the rounds of one answer, in order, into pieces. Rejected and discarded tokens come before the correction.

    Every token of a round is in exactly one piece, in the order of `strands` with the target's own token last.
    """

    __slots__ = ("_filter",)

    def __init__(self) -> None:
        self._filter = TerminalFilter()

    def pieces(self, event: Round) -> Iterator[Piece]:
        """The pieces of one round in reading order."""
        for strand in strands(event):
            discarded: list[DraftedToken] = []
            for token in strand.tokens:
                if token.outcome is Outcome.ACCEPTED:
                    yield self._emitted(token.text, Ink.ACCEPTED)
                elif token.outcome is Outcome.REJECTED:
                    yield _not_in_answer(token, Ink.REJECTED)
                else:
                    discarded.append(token)
            if len(discarded) > FOLD_ABOVE:
                yield Piece("⋯", Ink.DISCARDED, len(discarded))
            else:
                for token in discarded:
                    yield _not_in_answer(token, Ink.DISCARDED)
        if event.token.kind is not TokenKind.NONE:
            yield self._emitted(event.token.text, Ink(event.token.kind.value))

    def _emitted(self, text: str, ink: Ink) -> Piece:
        return Piece(self._filter.feed(text).replace("\t", TAB), ink)


def _not_in_answer(token: DraftedToken, ink: Ink) -> Piece:
    """A token that is not in the answer.

    Line ends and bare spaces become signs, because a stroke needs something to cross.
    """
    safe = drafted_text(token)
    return Piece("␣" * len(safe) if safe and not safe.strip() else safe, ink)


def round_text(event: Round, stream: TerminalFilter) -> Text:
    """The round's part of the answer, with the rejected token struck through before its correction.

    `stream` is the filter of the whole answer. The rejected token does not pass it. Discarded tokens are left out.
    """
    text = Text()
    for token in (token for strand in strands(event) for token in strand.tokens):
        if token.outcome is Outcome.ACCEPTED:
            text.append(stream.feed(token.text), LOOKS[token.outcome].style)
        elif token.outcome is Outcome.REJECTED:
            text.append(drafted_text(token), LOOKS[token.outcome].style)
    if event.token.kind is not TokenKind.NONE:
        text.append(stream.feed(event.token.text), LOOKS[event.token.kind].style)
    return text


def drafted_text(token: DraftedToken) -> str:
    """The text of a token that is not in the answer, on one line; a sign if it is not known."""
    return UNKNOWN if token.is_unknown else on_one_line(token.text)


def on_one_line(text: str) -> str:
    """A token's text, filtered, with signs for line ends and tabs: a rejected line end must not break the line."""
    return clean(text).replace("\n", "↵").replace("\t", "⇥")


_SIGNS = {" ": "·", "\n": "↵", "\t": "⇥", "\r": "␍"}


def visible(text: str) -> str:
    """A token's text on one line, with signs for spaces and line ends."""
    return "".join(_SIGNS.get(character, character if character.isprintable() else "▯") for character in text) or "∅"
