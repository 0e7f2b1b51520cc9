from __future__ import annotations

import math

import pytest
from hypothesis import given

from specchat.traces.timeline import Playhead, Timeline
from specchat.traces.trace import Trace
from support.sample_traces import sample_trace, start_line, traces


def test_a_round_is_due_when_it_was_done() -> None:
    timeline = Timeline(sample_trace())
    assert [timeline.due(seconds) for seconds in (0, 0.0999, 0.1, 0.25, 0.4, 9)] == [0, 0, 1, 2, 4, 4]
    assert timeline.duration == 0.4


def test_seeking_by_round_finds_the_moment_when_it_was_done() -> None:
    timeline = Timeline(sample_trace())
    assert [timeline.at(count) for count in (-1, 0, 1, 4, 9)] == [0.0, 0.0, 0.1, 0.4, 0.4]


@given(traces())
def test_at_and_due_belong_together(trace: Trace) -> None:
    timeline = Timeline(trace)
    for count in range(1, len(trace.rounds) + 1):
        assert timeline.due(timeline.at(count)) >= count
        assert timeline.due(math.nextafter(timeline.at(count), -1)) < count


def test_a_turn_without_rounds_has_no_duration() -> None:
    timeline = Timeline(Trace(start_line(), ()))
    assert (timeline.duration, timeline.due(5), timeline.at(3)) == (0.0, 0, 0.0)


def test_a_speed_is_a_factor_and_can_change_in_the_middle() -> None:
    head = Playhead(10.0, speed=2.0).played(100.0)
    assert head.position(101.0) == 2.0
    slower = head.at_speed(0.5, 101.0)
    assert slower.position(101.0) == 2.0
    assert slower.position(103.0) == 3.0
    assert slower.wait(4.0, 103.0) == 2.0


def test_a_pause_stays_and_goes_on_from_there() -> None:
    head = Playhead(10.0).played(0.0).paused(3.0)
    assert head.position(50.0) == 3.0
    assert head.wait(5.0, 50.0) is None
    assert head.played(50.0).position(51.0) == 4.0


def test_seeking_stays_inside_and_keeps_playing_or_paused() -> None:
    head = Playhead(10.0).played(0.0)
    assert head.sought(7.0, 1.0).position(2.0) == 8.0
    assert head.sought(99.0, 1.0).position(1.0) == 10.0
    assert head.paused(1.0).sought(-5.0, 1.0).position(9.0) == 0.0


def test_it_stops_at_the_end_and_plays_again_from_the_beginning() -> None:
    head = Playhead(10.0).played(0.0)
    assert head.position(99.0) == 10.0
    assert head.played(99.0).position(100.0) == 1.0


def test_without_a_limit_everything_is_due_at_once() -> None:
    head = Playhead(10.0, speed=math.inf).played(5.0)
    assert head.wait(10.0, 5.0) == 0.0
    assert head.position(5.001) == 10.0


@pytest.mark.parametrize("speed", [0.0, -1.0, math.nan])
def test_a_speed_that_leads_nowhere_is_refused(speed: float) -> None:
    with pytest.raises(ValueError, match="must be above 0"):
        Playhead(1.0).at_speed(speed, 0.0)
