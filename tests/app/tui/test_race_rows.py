"""What stands above and below a race."""

from dataclasses import replace

import pytest

from specchat.traces.race import Race
from specchat.tui.screens.race import lane_title, lead_line, most_lead, verdict_line
from support.sample_traces import CAT, sample_trace

FAST, SLOW = sample_trace(step_ms=100.0), sample_trace(step_ms=200.0)


def test_the_bar_reaches_its_end_where_the_lead_is_largest_and_towards_who_leads() -> None:
    race = Race.of(SLOW, FAST)
    most = most_lead(race)
    assert most == 6
    line = lead_line(race, 0.3, most, 100).plain
    assert line == "░" * 35 + "│" + "█" * 35 + "  speculative leads by 6"
    behind = lead_line(Race.of(FAST, SLOW), 0.3, most, 100).plain
    assert behind == "░" * 0 + "█" * 35 + "│" + "░" * 35 + "  plain leads by 6"
    assert "█" not in lead_line(race, 0.0, most, 100).plain


def test_a_clock_stops_when_its_side_is_done() -> None:
    race = Race.of(SLOW, FAST)
    assert "0:00.40 ■" in lane_title("speculative", race.speculative, 0.7, 80).plain
    assert "0:00.70 ▶" in lane_title("plain", race.plain, 0.7, 80).plain
    assert "8 tokens" in lane_title("plain", race.plain, 9.0, 80).plain


@pytest.mark.parametrize("width", [20, 38, 52, 120])
def test_every_row_fits(width: int) -> None:
    race = Race.of(SLOW, FAST)
    assert lane_title("speculative", race.speculative, 0.3, width).cell_length <= width
    assert lead_line(race, 0.3, most_lead(race), width).cell_length <= width


def test_the_verdict_says_who_was_faster_and_by_how_much() -> None:
    assert verdict_line(Race.of(SLOW, FAST)).plain.endswith("2.00 × as fast as plain")
    assert verdict_line(Race.of(SLOW, FAST)).plain.startswith("✓ texts equal")
    other = sample_trace((replace(CAT[0], token=replace(CAT[0].token, text="A")), *CAT[1:]))
    assert verdict_line(Race.of(SLOW, other)).plain.startswith("✕ the texts part at character 0")
