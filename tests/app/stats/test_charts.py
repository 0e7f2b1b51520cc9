from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.stats.charts import (
    DOTTED,
    UPRIGHT,
    Line,
    Plot,
    Style,
    as_text,
    histogram,
    k_chart,
    kinds_table,
    position_bars,
)
from specchat.stats.spread import Spread
from specchat.stats.summary import Figures, Summary
from specchat_engine.decoding.rounds import Round
from support.drawn_rounds import made_round, rounds_drawn


def widths(lines: list[Line]) -> list[int]:
    return [sum(len(text) for text, _ in line) for line in lines]


@settings(max_examples=40)
@given(rounds_drawn(), st.integers(30, 160))
def test_no_line_is_wider_than_the_terminal(rounds: list[Round], width: int) -> None:
    figures = Figures.of(rounds)
    for lines in (
        position_bars(figures, width),
        k_chart(rounds, width),
        histogram(figures.round_ms, width),
        kinds_table(Summary.of_turn(rounds).by_kind.items(), width),
    ):
        assert max(widths(lines), default=0) <= width


def test_bars_by_position_show_the_share_of_what_was_drafted_there() -> None:
    lines = as_text(position_bars(Figures.of([made_round(2, 2), made_round(2, 1)]), 40)).splitlines()
    assert lines[0].startswith("  1 ")
    assert "100 % of 2" in lines[0]
    assert "50 % of 2" in lines[1]
    assert lines[0].count("█") == pytest.approx(2 * lines[1].count("█"), abs=1)


def test_k_over_the_turn_rises_and_names_its_commonest_reasons() -> None:
    rounds = [made_round(2, 1, k=2, reason=f"match of {10 + place}") for place in range(6)]
    rounds += [made_round(8, 1, k=8, reason="a draft pays\x1b]0;x\x07")] * 2
    text = as_text(k_chart(rounds, 60))
    blocks = text.splitlines()[0].split()[1]
    assert blocks[0] < blocks[-1] == "█"
    assert "75 % k 2: match of 15" in text
    assert "25 % k 8: a draft pays" in text
    assert "\x1b" not in text


def test_a_histogram_has_the_longest_bar_where_most_rounds_are() -> None:
    lines = as_text(histogram(Spread.of([2.0] * 90 + [9.0] * 10), 70)).splitlines()
    assert "90" in max(lines[:-1], key=lambda line: line.count("█"))
    assert lines[-1].startswith("ms  p50 1.99")
    assert "p99 9.0" in lines[-1] or "p99 8.9" in lines[-1]


def test_a_table_compares_kinds() -> None:
    rounds = [made_round(drafted, 0, text=text) for drafted, text in ((2, "so "), (0, "\n"), (2, "```"), (2, "x"))]
    text = as_text(kinds_table(Summary.of_turn(rounds).by_kind.items(), 60))
    assert "prose" in text
    assert "code" in text


def test_where_nothing_happened_nothing_is_drawn() -> None:
    assert position_bars(Figures(), 80) == k_chart([], 80) == histogram(Spread(), 80) == kinds_table([], 80) == []


def test_k_over_the_turn_names_the_ks_that_were_set_and_the_shares_of_the_reasons_add_up() -> None:
    text = as_text(k_chart([made_round(4, 2, k=4)] * 41, 60))
    assert "k 4 in 41 rounds" in text
    assert "0 to" not in text
    assert "100 % k 4: fixed" in text
    rounds = [made_round(2, 1, k=2, reason=reason) for reason in "aaabbcdefg"]
    text = as_text(k_chart(rounds, 60))
    assert "30 % other reasons" in text
    assert sum(int(share) for share in re.findall(r"(\d+) %", text)) == 100


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
