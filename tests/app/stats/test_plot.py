"""Plots made of characters."""

from __future__ import annotations

from specchat.stats.charts import Style, as_text
from specchat.stats.plot import DOTTED, UPRIGHT, Plot


def test_marks_stand_at_their_column_and_value_with_labels_on_the_left() -> None:
    plot = Plot(3, 3, 0.0, 10.0)
    plot.mark(0, 0.0, "a", Style.PLAIN)
    plot.mark(1, 5.0, "b", Style.PLAIN)
    plot.mark(2, 10.0, "c", Style.PLAIN)
    labels = {row: f"{plot.value(row):.0f}" for row in (0, 2)}
    assert as_text(plot.lines(labels)).splitlines() == ["    10 │  c", "       │ b", "     0 │a"]


def test_a_line_joins_two_points_and_what_is_drawn_last_is_seen() -> None:
    plot = Plot(5, 2, 0.0, 1.0)
    plot.upright(2)
    plot.line((0, 0.0), (4, 0.0), DOTTED)
    plot.mark(4, 0.0, "o", Style.PLAIN)
    assert as_text(plot.lines({})).splitlines() == [f"       │  {UPRIGHT}", "       │ ···o"]
