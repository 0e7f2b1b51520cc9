"""What the colours and glyphs mean, for the greeting, the dashboard and the help."""

from __future__ import annotations

from textual.content import Content

from specchat.terminal.palette import LOOKS
from specchat.terminal.pieces import Ink, Piece

_MEANINGS = {
    Ink.ACCEPTED: "a correct guess of the draft: nearly free",
    Ink.REJECTED: "a guess that the target rejected",
    Ink.DISCARDED: "after a rejected one, never compared (⋯)",
    Ink.CORRECTION: "the target's own, in place of a rejected one",
    Ink.BONUS: "the target's own, after a correct draft",
    Ink.PLAIN: "the target's own, where nothing was drafted",
}


def legend_rows() -> list[Content]:
    """One row for each ink: its glyph in the ribbon, its name in its look, its meaning."""
    looks = {key.value: look for key, look in LOOKS.items()}
    return [
        Content.assemble(
            (looks[ink.value].glyph, f"$outcome-{ink.value}"),
            "  ",
            _name_in_its_look(ink, looks[ink.value].attributes),
            " " * (12 - len(ink.value)),
            (meaning, "$quiet"),
        )
        for ink, meaning in _MEANINGS.items()
    ]


def legend_pieces() -> list[Piece]:
    """The same rows as pieces of text."""
    looks = {key.value: look for key, look in LOOKS.items()}
    return [
        piece
        for ink, meaning in _MEANINGS.items()
        for piece in (
            Piece(f"\n{looks[ink.value].glyph}  ", f"$outcome-{ink.value}"),
            Piece(ink.value, ink),
            Piece(" " * (12 - len(ink.value)) + meaning, "$quiet"),
        )
    ]


def legend_line() -> Content:
    """The four glyphs of the ribbon in one row."""
    parts = (
        ("●", "accepted", "accepted"),
        ("○", "rejected", "rejected"),
        ("·", "discarded", "discarded"),
        ("◆", "bonus", "target"),
    )
    return Content("  ").join(
        Content.assemble((glyph, f"$outcome-{ink}"), (name, "$quiet")) for glyph, ink, name in parts
    )


def _name_in_its_look(ink: Ink, attributes: tuple[str, ...]) -> Content:
    return Content.styled(ink.value, " ".join((*attributes, f"$outcome-{ink.value}")))
