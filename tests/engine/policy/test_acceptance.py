"""Shares follow what happens, and fall back on what happened before."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.acceptance import POSITIONS, Habits, Shares, confidence_class, matches_from

hits = st.lists(st.booleans(), max_size=60)


@given(hits, st.floats(0.01, 0.99))
def test_an_expectation_lies_between_its_prior_and_what_was_seen(seen: list[bool], prior: float) -> None:
    shares = Shares([prior], fade=0.9, strength=3)
    for hit in seen:
        shares.observe([0], hit)
    low, high = min([prior, *seen]), max([prior, *seen])
    assert low - 1e-9 <= shares.at(0) <= high + 1e-9


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=6))
def test_many_trials_of_one_class_can_be_counted_at_once(drafts: list[tuple[int, int]]) -> None:
    one_by_one, at_once = Shares([0.7], fade=0.95, strength=4), Shares([0.7], fade=0.95, strength=4)
    for count, hits in drafts:
        one_by_one.observe([0] * count, hits)
        at_once.observe_same(count, hits)
    assert at_once.at(0) == pytest.approx(one_by_one.at(0), abs=1e-12)
    assert at_once.tried(3) == one_by_one.tried(3)


def test_many_trials_outweigh_the_prior_and_the_latest_the_older_ones() -> None:
    shares = Shares([0.9], fade=0.9, strength=3)
    for _ in range(100):
        shares.observe([0], False)
    assert shares.at(0) < 0.25
    for _ in range(30):
        shares.observe([0], True)
    assert shares.at(0) > 0.9


def test_positions_that_were_never_tried_expect_what_the_others_see() -> None:
    shares = Shares([0.7] * 4, fade=0.96, strength=3)
    for _ in range(40):
        shares.observe([0], False)
    alone, together = shares.at(3), shares.all(pooled=True)[3]
    assert alone == pytest.approx(0.7)
    assert together < 0.15


@given(st.lists(st.tuples(st.integers(0, 2), st.booleans()), max_size=40))
def test_the_shares_of_all_classes_are_those_of_each(trials: list[tuple[int, bool]]) -> None:
    shares = Shares([0.2, 0.5, 0.8], fade=0.9, strength=2)
    for place, hit in trials:
        shares.observe([place], hit)
    assert shares.all() == [shares.at(place) for place in range(3)]
    assert shares.at(7) == shares.at(2)


def test_trials_are_known_of_after_a_restart_as_well() -> None:
    shares = Shares([0.5], fade=0.9, strength=2)
    assert not shares.tried(1)
    shares.observe([0], False)
    assert shares.tried(1)
    assert not shares.tried(2)
    again = Shares([0.5], fade=0.9, strength=2)
    again.take(shares.all())
    assert again.tried(2)
    assert again.at(0) == pytest.approx(shares.at(0), abs=1e-3)


def test_what_a_drafter_that_has_come_so_far_may_hope_for_goes_on_as_it_was() -> None:
    """Where no token was drafted yet, the nearest one before it tells; one that fails tells of itself alone."""
    habits = Habits()
    for _ in range(30):
        habits.onward.observe(range(6), 6)
    near, far = habits.stands_onward(16)[5], habits.stands_onward(16)[15]
    assert near > 0.95
    assert far == pytest.approx(near)
    for _ in range(60):
        habits.onward.observe(range(9), 8)
    onward = habits.stands_onward(16)
    assert onward[8] < 0.2
    assert min(onward[:8]) > 0.95
    kept = Habits.from_json(habits.to_json()).stands_onward(16)
    assert kept == pytest.approx(onward, abs=1e-3)


def test_longer_matches_and_surer_drafts_are_in_higher_classes() -> None:
    assert list(matches_from(2, 40)) == sorted(matches_from(2, 40))
    assert matches_from(2, 3) != matches_from(12, 3)
    assert len(matches_from(10_000, POSITIONS)) == POSITIONS
    classes = [confidence_class(percent / 100) for percent in range(101)]
    assert classes == sorted(classes)
    assert (classes[0], classes[-1]) == (0, 9)


def test_habits_survive_a_restart() -> None:
    habits = Habits()
    for place in range(20):
        habits.chain.observe([place % 4], place % 3 > 0)
        habits.by_confidence.observe([place % 10], place % 2 > 0)
    again = Habits.from_json(json.loads(json.dumps(habits.to_json())))
    assert again.to_json() == habits.to_json()


@pytest.mark.parametrize("kept", [[0.5], [0.5] * 31 + [1.5], [0.5] * 31 + ["x"], "x", None])
def test_a_damaged_record_is_refused(kept: object) -> None:
    with pytest.raises(ValueError, match="no shares of the same classes"):
        Habits.from_json({**Habits().to_json(), "chain": kept})  # type: ignore[dict-item]


def test_a_record_from_before_some_shares_were_kept_is_still_one() -> None:
    habits = Habits()
    habits.by_match.observe([0], True)
    kept = habits.to_json()
    del kept["by_resumed"], kept["onward"]
    again = Habits.from_json(kept).to_json()
    assert again["by_match"] == kept["by_match"]
    assert again["by_resumed"] == Habits().to_json()["by_resumed"]
    with pytest.raises(KeyError):
        Habits.from_json({name: shares for name, shares in kept.items() if name != "by_match"})
