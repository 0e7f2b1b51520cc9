"""The looks of drafted tokens and of the target's tokens, and the order in which a round is read, for all that draws.

Blue is an accepted guess, orange a rejected one and its correction, and what is struck through is not in the answer.
Every outcome also has a shape, so colour is never the only sign. Colour-blind people can tell blue and orange apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from specchat_engine.decoding.rounds import DraftedToken, Outcome, Round, TokenKind

BLUE = "#4f9dea"
ORANGE = "#e8912d"
GREY = "#8c8c8c"

ON_LIGHT: Mapping[str, str] = MappingProxyType({BLUE: "#0a5cad", ORANGE: "#a34a00", GREY: "#6a6f76"})
"""The same colours, dark enough for a white background."""

SIXTEEN: Mapping[bool, Mapping[str, str]] = MappingProxyType(
    {
        True: MappingProxyType({BLUE: "#55ffff", ORANGE: "#ff5555", GREY: "#aaaaaa"}),
        False: MappingProxyType({BLUE: "#5555ff", ORANGE: "#ff5555", GREY: "#555555"}),
    }
)
"""The same colours from the sixteen of older terminals, by whether the background is dark: cyan or blue, bright red in
place of the orange, which they lack, and a grey. They stand out from black or from white."""


class Look(NamedTuple):
    """A colour (None for the default), rich's attributes, and the glyph in a round's ribbon."""

    colour: str | None
    attributes: tuple[str, ...]
    glyph: str

    @property
    def style(self) -> str:
        """The look as a style definition for rich and Textual."""
        return " ".join((*self.attributes, *([self.colour] if self.colour else []))) or "none"


LOOKS: Mapping[Outcome | TokenKind, Look] = MappingProxyType(
    {
        Outcome.ACCEPTED: Look(BLUE, (), "●"),
        Outcome.REJECTED: Look(ORANGE, ("dim", "strike"), "○"),
        Outcome.DISCARDED: Look(GREY, ("dim", "strike"), "·"),
        TokenKind.CORRECTION: Look(ORANGE, ("underline",), "◆"),
        TokenKind.BONUS: Look(None, ("bold",), "◇"),
        TokenKind.PLAIN: Look(None, (), "□"),
        TokenKind.NONE: Look(None, (), ""),
    }
)


def word_of(event: Round) -> str:
    """A round as a word of the ribbon: `●●○·◆`, with branches beside the path in parentheses: `●(○)●◆`."""
    drafted = ""
    for tokens, aside in strands(event):
        word = "".join(LOOKS[token.outcome].glyph for token in tokens)
        drafted += f"({word})" if aside else word
    return drafted + LOOKS[event.token.kind].glyph


class Strand(NamedTuple):
    """Tokens that are read in a row; a branch that was not taken stands `aside`, before the token that was."""

    tokens: tuple[DraftedToken, ...]
    aside: bool = False


def strands(event: Round) -> Iterator[Strand]:
    """A chain is one strand. In a tree the branches at a place come before the token that was accepted there; after
    the last one accepted, the first branch goes on as a chain would."""
    if not event.parents:
        yield Strand(event.drafted)
        return
    following: dict[int, list[int]] = {}
    for index, parent in enumerate(event.parents):
        following.setdefault(parent, []).append(index)

    def branch(start: int, *, aside: bool) -> Strand:
        taken, waiting = [], [start]
        while waiting:
            taken.append(waiting.pop())
            waiting += reversed(following.get(taken[-1], ()))
        return Strand(tuple(event.drafted[index] for index in taken), aside)

    accepted = event.num_accepted
    for depth in range(accepted):
        yield from (branch(index, aside=True) for index in following[depth - 1] if index != depth)
        yield Strand((event.drafted[depth],))
    for number, index in enumerate(following.get(accepted - 1, ())):
        yield branch(index, aside=number > 0)
