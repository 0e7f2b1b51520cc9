"""How the outcomes of speculation look, in one place for the command line and the terminal app.

Blue is a good guess, orange is where the target spoke itself, a stroke is what was thrown away. Every outcome has a
shape or a glyph too, so colour is never the only sign. Blue and orange can be told apart by the colour-blind.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from specchat_engine.decoding.rounds import Outcome, Round, TokenKind

BLUE = "#4f9dea"
ORANGE = "#e8912d"
GREY = "#8c8c8c"

ON_LIGHT: Mapping[str, str] = MappingProxyType({BLUE: "#0a5cad", ORANGE: "#a34a00", GREY: "#6a6f76"})
"""The same colours, dark enough to be read on white."""


class Look(NamedTuple):
    """A colour (None is the foreground's own), attributes in rich's words, and the glyph in a round's ribbon."""

    colour: str | None
    attributes: tuple[str, ...]
    glyph: str

    @property
    def style(self) -> str:
        """The look as a style definition that rich and Textual read."""
        return " ".join((*self.attributes, *([self.colour] if self.colour else []))) or "none"


LOOKS: Mapping[Outcome | TokenKind, Look] = MappingProxyType(
    {
        Outcome.ACCEPTED: Look(BLUE, (), "●"),
        Outcome.REJECTED: Look(ORANGE, ("dim", "strike"), "○"),
        Outcome.DISCARDED: Look(GREY, ("dim", "strike"), "·"),
        TokenKind.CORRECTION: Look(ORANGE, ("underline",), "◆"),
        TokenKind.BONUS: Look(None, ("bold",), "◆"),
        TokenKind.PLAIN: Look(None, (), "◆"),
        TokenKind.NONE: Look(None, (), ""),
    }
)


def word_of(event: Round) -> str:
    """A round as a word of the ribbon: `●●○·◆`."""
    return "".join(LOOKS[token.outcome].glyph for token in event.drafted) + LOOKS[event.token.kind].glyph
