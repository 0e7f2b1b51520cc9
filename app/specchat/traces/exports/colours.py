"""The palette as a style sheet: colours for light and for dark pages, and a shape for every ink."""

from __future__ import annotations

from specchat.palette import LOOKS, ON_LIGHT, Look
from specchat.tui.pieces import Ink
from specchat_engine.rounds import Outcome, TokenKind

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
_SHAPES = {
    "bold": "font-weight: 700",
    "underline": "text-decoration: underline",
    "strike": "text-decoration: line-through",
}


def colours(root: str) -> str:
    """Custom properties on `root`: `--accepted` and its like, and the page's; dark where the viewer prefers that."""
    dark = f"@media (prefers-color-scheme: dark) {{ {root} {{ {_properties(dark=True)} }} }}"
    return f"{root} {{ {_properties(dark=False)} }}\n{dark}"


def shapes(prefix: str, colour: str) -> str:
    """A rule for each ink, whose class is named behind `prefix`; `colour` is the property that takes its colour."""
    rules = []
    for ink in Ink:
        attributes = [_SHAPES[name] for name in look_of(ink).attributes if name in _SHAPES]
        rules.append(f"{prefix}{ink.value} {{ {'; '.join([f'{colour}: var(--{ink.value})', *attributes])} }}")
    return "\n".join(rules)


def look_of(ink: Ink) -> Look:
    """The palette's entry for an ink."""
    return LOOKS[Outcome(ink)] if ink in set(Outcome) else LOOKS[TokenKind(ink)]


def _properties(*, dark: bool) -> str:
    page = _DARK if dark else _LIGHT
    values = dict(page)
    for ink in Ink:
        look = look_of(ink)
        if look.colour:
            values[ink.value] = look.colour if dark else ON_LIGHT[look.colour]
        else:
            values[ink.value] = page["strong" if "bold" in look.attributes else "text"]
    return " ".join(f"--{name}: {value};" for name, value in values.items())
