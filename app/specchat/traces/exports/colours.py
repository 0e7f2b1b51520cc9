"""The palette as a style sheet, with colours for light and dark pages and a shape for each ink."""

from __future__ import annotations

from specchat.terminal.palette import LOOKS, ON_LIGHT, Look
from specchat.terminal.pieces import Ink
from specchat_engine.decoding.rounds import Outcome, TokenKind

FOLDED = "⋯"
FOLD = "fold"
"""The class of a sign for several tokens, which is not struck through, to keep it visible."""

_DARK = {
    "page": "#14171c",
    "panel": "#1d2229",
    "line": "#343b46",
    "text": "#d7dae0",
    "strong": "#ffffff",
    "quiet": "#98a1ae",
}
_LIGHT = {
    "page": "#fbfbfa",
    "panel": "#f0f1f3",
    "line": "#c9ced6",
    "text": "#1f2328",
    "strong": "#000000",
    "quiet": "#59616b",
}
_OUTCOMES = {outcome.value for outcome in Outcome}
_SHAPES = {
    "bold": "font-weight: 700",
    "underline": "text-decoration: underline",
    "strike": "text-decoration: line-through",
}


def values(*, dark: bool) -> dict[str, str]:
    """The colours of the parts of the page and of each ink, by name."""
    page = _DARK if dark else _LIGHT
    found = dict(page)
    for ink in Ink:
        look = look_of(ink)
        if look.colour:
            found[ink.value] = look.colour if dark else ON_LIGHT[look.colour]
        else:
            found[ink.value] = page["strong" if "bold" in look.attributes else "text"]
    return found


def when_dark(rules: str) -> str:
    """Rules that apply if the viewer prefers dark pages."""
    return f"@media (prefers-color-scheme: dark) {{\n{rules}\n}}"


def shapes() -> str:
    """A rule with the shape of each ink that differs by more than colour. The class is the name of the ink."""
    told = {ink: [_SHAPES[name] for name in look_of(ink).attributes if name in _SHAPES] for ink in Ink}
    rules = [f".{ink.value} {{ {'; '.join(ways)} }}" for ink, ways in told.items() if ways]
    return "\n".join([*rules, f".{FOLD} {{ text-decoration: none }}"])


def look_of(ink: Ink) -> Look:
    """The palette's entry for an ink."""
    return LOOKS[Outcome(ink.value)] if ink.value in _OUTCOMES else LOOKS[TokenKind(ink.value)]
