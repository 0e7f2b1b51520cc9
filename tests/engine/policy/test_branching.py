"""A runner-up is added where its chance is worth the wider pass, the likeliest first."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.decoding.drafts import Draft
from specchat_engine.policy.acceptance import Evidence, Shares
from specchat_engine.policy.branching import Branching

USUAL = (0.5, 0.5)
OWN, INSTEAD = (Shares(Evidence((0.7,), expected, USUAL)) for expected in ((0.5, 0.9), (0.3, 0.05)))
BY_LENGTH, BY_COUNT = (
    Shares(Evidence(edges, expected, USUAL)) for edges, expected in (((9,), (0.5, 0.9)), ((0.3,), (0.1, 0.4)))
)


def draft(*confidence: float) -> Draft:
    tokens = tuple(range(len(confidence)))
    return Draft(tokens, confidence=confidence, runners_up=tuple(token + 100 for token in tokens))


def branching(costs: Sequence[float], *, pace: float = 1.0, most: int = 8) -> Branching:
    return Branching(most, False, OWN, INSTEAD, costs=costs, pace=pace)


def counted(*shares: float) -> Draft:
    """What a store drafts: runners-up with their shares; none where the share is 0."""
    tokens = tuple(range(len(shares)))
    runners_up = tuple(token + 100 if share else None for token, share in zip(tokens, shares, strict=True))
    return Draft(tokens, runners_up=runners_up, runner_up_shares=shares)


def rising_by(slope: float) -> list[float]:
    """The costs of passes over 0 to 32 tokens."""
    return [1 + slope * width for width in range(33)]


def test_doubtful_places_come_first_and_are_worth_less_behind_other_doubtful_ones() -> None:
    unsure_late = draft(0.9, 0.9, 0.2, 0.2)
    assert branching(rising_by(0.2))(unsure_late) == [2]
    assert branching(rising_by(0.1))(unsure_late) == [2, 3]


def test_where_width_is_free_every_place_gets_its_runner_up() -> None:
    assert branching(rising_by(0.0))(draft(0.9, 0.9, 0.2)) == [0, 1, 2]


def test_where_width_is_dear_none_does() -> None:
    rule = branching(rising_by(0.4))
    assert rule(draft(0.2, 0.2)) == []
    assert not rule.may_pay(3)
    assert branching(rising_by(0.2)).may_pay(3)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0, 0.5), st.integers(0, 15))
def test_no_more_are_added_than_are_allowed_or_fit(confidence: list[float], slope: float, most: int) -> None:
    costs = rising_by(slope)[:16]
    places = branching(costs, most=most)(draft(*confidence))
    assert len(places) <= most
    assert len(confidence) + 1 + len(places) < max(len(costs), len(confidence) + 2)
    assert places == sorted(set(places))


@pytest.mark.parametrize("most", [1, 3, 9])
def test_a_fixed_number_is_added_whatever_it_costs(most: int) -> None:
    places = Branching(most, fixed=True)(Draft((1, 2, 3, 4), runners_up=(5, 6, 7, 8)))
    assert places == [*range(min(most, 4))]


def test_runners_up_of_a_match_are_judged_by_their_share_and_by_how_long_it_is() -> None:
    common = counted(0.4, 0.1, 0.4)
    short, long = (Branching(8, False, BY_LENGTH, BY_COUNT, match, rising_by(0.15), 1.0) for match in (2, 20))
    assert short(common) == [0]
    assert long(common) == [0, 2]


@pytest.mark.parametrize(
    "rule", [Branching(8, False, BY_LENGTH, BY_COUNT, 5, rising_by(0.0), 1.0), Branching(8, fixed=True)]
)
def test_where_nothing_else_followed_there_is_no_branch(rule: Branching) -> None:
    alone = counted(0.0, 0.5, 0.0)
    assert rule(alone) == [1]
    assert alone.branched(rule(alone)).tokens == (0, 1, 2, 101)
    assert rule(counted(0.0, 0.0)) == []
