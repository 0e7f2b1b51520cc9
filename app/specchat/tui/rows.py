"""Rows of lists about models, and a known pair as one. Pure, and light enough for the first screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from specchat.terminal.filter import clean_line

if TYPE_CHECKING:
    from specchat.models.recommended import Suggestion


def row(width: int, sign: Content, left: str, *right: tuple[str, int], style: str = "") -> Content:
    """One line of exactly `width` cells: a sign, a name that is cut where it must be, columns of fixed widths.

    Columns that leave the name less than a third of the line are left out, the last ones first.
    """
    columns = [*right]
    while columns and sum(size + 2 for _, size in columns) > 2 * width // 3:
        columns.pop()
    end = "".join(f"  {clean_line(text)[:size]:>{size}}" for text, size in columns)
    name = Content.assemble(sign, (clean_line(left), style))
    free = width - len(end)
    if name.cell_length > free:
        name = name.truncate(max(free, 1), ellipsis=True)
    return Content.assemble(name, " " * (free - name.cell_length), (end, "$quiet"))


def suggestion_row(one: Suggestion, width: int) -> Content:
    """A known pair that fits."""
    return row(width, Content("  "), one.title, (one.size, 8), (one.speed, 27), style="bold")
