from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from specchat.errors import TraceError
from specchat.traces.timeline import Playhead, Race, Timeline
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import TokenKind
from support.drawn_rounds import sample_round
from support.sample_traces import CAT, sample_trace, start_line, traces


def test_a_round_is_due_when_it_was_done() -> None:
    timeline = Timeline(sample_trace())
    assert [timeline.due(seconds) for seconds in (0, 0.0999, 0.1, 0.25, 0.4, 9)] == [0, 0, 1, 2, 4, 4]
    assert timeline.duration == 0.4
    assert [timeline.at(count) for count in (-1, 0, 1, 4, 9)] == [0.0, 0.0, 0.1, 0.4, 0.4]
    empty = Timeline(Trace(start_line(), ()))
    assert (empty.duration, empty.due(5), empty.at(3)) == (0.0, 0, 0.0)


@settings(max_examples=40)
@given(traces())
def test_at_and_due_belong_together(trace: Trace) -> None:
    timeline = Timeline(trace)
    for count in range(1, len(trace.rounds) + 1):
        assert timeline.due(timeline.at(count)) >= count
        assert timeline.due(math.nextafter(timeline.at(count), -1)) < count


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

    assert head.position(99.0) == 10.0
    assert head.played(99.0).position(100.0) == 1.0, "it plays again from the beginning"


def test_without_a_limit_everything_is_due_at_once_and_a_speed_that_leads_nowhere_is_refused() -> None:
    head = Playhead(10.0, speed=math.inf).played(5.0)
    assert head.wait(10.0, 5.0) == 0.0
    assert head.position(5.001) == 10.0
    for speed in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="must be above 0"):
            Playhead(1.0).at_speed(speed, 0.0)


WORDS = ["The", " cat", " sat", " on", " the", " red", " mat", "."]
PLAIN = sample_trace([sample_round([], (TokenKind.PLAIN, word)) for word in WORDS], step_ms=100.0)
SPECULATIVE = sample_trace(CAT, step_ms=150.0)


def test_both_run_on_their_own_clocks_and_the_lead_is_in_tokens() -> None:
    race = Race.of(PLAIN, SPECULATIVE)
    assert race.duration == 0.8
    assert (race.plain.duration, race.speculative.duration) == (0.8, 0.6)
    assert [race.lead(seconds) for seconds in (0, 0.1, 0.15, 0.3, 0.6, 0.8)] == [0, -1, 0, 2, 2, 0]


def test_answers_of_other_lengths_are_compared_where_the_shorter_one_ends() -> None:
    assert Race.of(PLAIN, SPECULATIVE).ratio == pytest.approx(0.8 / 0.6)
    short = sample_trace(PLAIN.rounds[:5], step_ms=100.0)
    assert Race.of(short, SPECULATIVE).ratio == pytest.approx(0.5 / 0.3), "five tokens took two rounds"
    assert Race.of(PLAIN, sample_trace([])).ratio is None


def test_tokens_per_second_ends_at_the_speed_in_the_statistics() -> None:
    timeline = Race.of(PLAIN, SPECULATIVE).speculative
    assert timeline.tokens_per_second(0.1) is None
    assert timeline.tokens_per_second(0.15) == pytest.approx(1 / 3.5 * 1000)
    assert timeline.tokens_per_second(0.3) == pytest.approx(5 / 7 * 1000)
    assert timeline.tokens_per_second(9) == pytest.approx(SPECULATIVE.stats["tokens_per_second"])


def test_equal_texts_are_reported() -> None:
    verdict = Race.of(PLAIN, SPECULATIVE).verdict()
    assert verdict.equal
    assert verdict.words == "texts equal: 27 characters"
    assert (verdict.character, verdict.token) == (None, None)


def test_the_first_difference_is_reported_with_its_character_and_token() -> None:
    other = sample_trace([sample_round([], (TokenKind.PLAIN, word)) for word in [*WORDS[:5], " rug", "."]])
    verdict = Race.of(other, SPECULATIVE).verdict()
    assert not verdict.equal
    assert (verdict.character, verdict.token) == (20, 5)
    assert verdict.words == (
        "the texts differ from character 20, token 5: “ug.” and “ed mat.”; the number of tokens in a pass can decide a "
        "near-tie, and --exact prevents that"
    )


def test_an_answer_that_was_stopped_is_equal_as_far_as_it_goes() -> None:
    short = sample_trace(PLAIN.rounds[:3], reason="cancelled")
    verdict = Race.of(short, SPECULATIVE).verdict()
    assert verdict.words == "equal up to character 11, token 3, where the plain one stops (cancelled)"
    assert not verdict.equal
    assert "the speculative one stops (no end recorded)" in Race.of(PLAIN, short._replace(end=None)).verdict().words


def test_a_difference_names_what_else_was_different() -> None:
    other = sample_trace([sample_round([], (TokenKind.PLAIN, "No"))], seed=8, params={"k": 0, "temperature": 1.0})
    assert Race.of(other, SPECULATIVE).verdict().words.endswith("; not the same: seed, temperature")


def test_answers_to_different_prompts_do_not_race() -> None:
    with pytest.raises(TraceError, match="answer different messages"):
        Race.of(PLAIN, sample_trace(question="Something else?"))


@settings(max_examples=40)
@given(traces(), traces())
def test_a_verdict_is_true_of_any_two_answers(left: Trace, right: Trace) -> None:
    verdict = Race.of(left, right._replace(start={**right.start, "messages": left.start["messages"]})).verdict()
    assert verdict.equal == (left.text == right.text)
    if verdict.character is not None:
        place = verdict.character
        assert left.text[:place] == right.text[:place]
        assert left.text[place : place + 1] != right.text[place : place + 1]
