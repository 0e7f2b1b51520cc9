"""The looks of drafted tokens and of the target's tokens, shared by the command line and the terminal app.

Blue is an accepted guess, orange a rejected one and its correction, and what is struck through is not in the answer.
Every outcome also has a shape, so colour is never the only sign. Colour-blind people can tell blue and orange apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from specchat.terminal.strands import strands
from specchat_engine.decoding.rounds import Outcome, Round, TokenKind

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
