"""Plain rounds are made to be timed often enough, and no more often than they are worth."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.plain_runs import PlainRuns

QUICK, SLOW = 1.0, 50.0


def rounds_until_due(runs: PlainRuns, verify_ms: float = SLOW) -> int:
    passed = 0
    while not runs.are_due(99):
        runs.passed(1, False, verify_ms)
        passed += 1
    return passed


def test_before_a_few_were_seen_they_are_due_at_once() -> None:
    assert [PlainRuns().are_due(seen) for seen in range(5)] == [True, True, True, False, False]


@given(st.floats(1.0, 5.0), st.floats(1.0, 17.0), st.sampled_from([QUICK, SLOW]))
def test_they_cost_a_small_share_of_the_tokens(gain: float, tokens: float, plain_ms: float) -> None:
    """A run of n plain rounds gives n tokens in the time of n × gain."""
    runs = PlainRuns()
    runs.expect(gain, tokens, plain_ms)
    between = rounds_until_due(runs)
    assert 16 <= between <= 256
    lost = (6 if plain_ms == QUICK else 2) * (gain - 1)
    assert lost / (between * tokens) < 0.0041 or between == 256


@pytest.mark.parametrize(("verify_ms", "length"), [(QUICK, 6), (SLOW, 2)], ids=["quick", "slow"])
def test_a_run_is_over_behind_so_many_in_a_row(verify_ms: float, length: int) -> None:
    runs = PlainRuns()
    rounds_until_due(runs, verify_ms)
    for place in range(length):
        assert runs.are_due(99)
        runs.passed(1, True, verify_ms)
        assert runs.begins == (place == 0), "the first one tells nothing"
    assert not runs.are_due(99)


@pytest.mark.parametrize(("verify_ms", "missing"), [(QUICK, [5, 4, 3, 2, 1, 1]), (SLOW, [1, 1])], ids=["quick", "slow"])
def test_how_many_of_a_run_are_missing_is_known_from_its_first_on(verify_ms: float, missing: list[int]) -> None:
    runs = PlainRuns()
    found = []
    for _ in missing:
        runs.passed(1, True, verify_ms)
        found.append(runs.missing)
    assert found == missing
    runs.passed(1, False, verify_ms)
    assert runs.missing == len(missing)


def test_rounds_that_drafts_interrupt_are_no_run() -> None:
    runs = PlainRuns()
    rounds_until_due(runs)
    for _ in range(9):
        runs.passed(1, True, SLOW)
        runs.passed(1, False, SLOW)
    assert runs.are_due(99)
    runs.passed(2, True, SLOW)
    assert not runs.are_due(99), "two that were told of together"
