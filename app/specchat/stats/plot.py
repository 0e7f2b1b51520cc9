"""A plot made of characters: marks and lines at columns and values, with labels on the left."""

from __future__ import annotations

from collections.abc import Mapping

from specchat.stats.charts import Line, Style

SOLID, DOTTED = "─", "·"
UPRIGHT = "┊"

LABELS = 8
"""The width of what stands left of the cells."""


class Plot:
    """`columns` × `height` cells; the bottom row stands for the value `low`, the top row for `high`.

    A cell shows what was drawn there last.
    """

    def __init__(self, columns: int, height: int, low: float, high: float) -> None:
        self.columns = columns
        self.height = height
        self._low = low
        self._high = high
        self._cells: dict[tuple[int, int], tuple[str, Style]] = {}

    def mark(self, column: int, value: float, sign: str, style: Style) -> None:
        """Draws one character."""
        self._cells[column, self._row(value)] = sign, style

    def line(self, start: tuple[int, float], end: tuple[int, float], sign: str, style: Style = Style.QUIET) -> None:
        """Draws the columns between two points, each a column and a value."""
        (left, first), (right, last) = start, end
        for column in range(left + 1, right):
            self.mark(column, first + (last - first) * (column - left) / (right - left), sign, style)

    def upright(self, column: int) -> None:
        """Draws a line from the bottom to the top."""
        for row in range(self.height):
            self._cells[column, row] = UPRIGHT, Style.QUIET

    def value(self, row: int) -> float:
        """The value that a row stands for; row 0 is at the bottom."""
        return self._low + (self._high - self._low) * row / (self.height - 1)

    def lines(self, labels: Mapping[int, str]) -> list[Line]:
        """The rows from the top down, with the labels of some of them."""
        return [
            (
                (f"{labels.get(row, ''):>{LABELS - 2}} │", Style.QUIET),
                *(self._cells.get((column, row), (" ", Style.PLAIN)) for column in range(self.columns)),
            )
            for row in reversed(range(self.height))
        ]

    def _row(self, value: float) -> int:
        return round((value - self._low) / (self._high - self._low) * (self.height - 1))
