"""In each answer the shares of its kind of text shift with what became of its own tokens."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.acceptance import Acceptance
from specchat_engine.policy.trend import Trend

shares = st.floats(0.01, 0.99)


def seen(expected: float, outcomes: list[bool]) -> Trend:
    trend = Trend()
    for accepted in outcomes:
        trend.observe(expected, accepted=accepted)
    return trend


def test_an_answer_begins_as_its_kind() -> None:
    assert Trend().shift(0.6) == 0.6


def test_tokens_that_fare_as_expected_change_nothing() -> None:
    assert seen(0.5, [True, False] * 20).shift(0.6) == pytest.approx(0.6)


@given(shares, shares, st.lists(st.booleans(), max_size=200))
def test_a_shifted_share_is_a_share_and_follows_what_was_seen(
    share: float, expected: float, outcomes: list[bool]
) -> None:
    shifted = seen(expected, outcomes).shift(share)
    assert 0 <= shifted <= 1
    surplus = sum(outcomes) - expected * len(outcomes)
    assert (shifted - share) * surplus >= -1e-9


def test_a_draft_that_never_stands_is_soon_expected_to_fall() -> None:
    shifted = [seen(0.5, [False] * count).shift(0.5) for count in (0, 10, 50, 200)]
    assert shifted == sorted(shifted, reverse=True)
    assert shifted[-1] < 0.1


def test_a_draft_that_always_stands_is_soon_trusted() -> None:
    assert seen(0.5, [True] * 200).shift(0.5) > 0.9


def test_one_answer_shifts_its_own_shares_and_teaches_its_kind() -> None:
    acceptance, trend = Acceptance(), Trend()
    kind = acceptance.of("prose", "model", "confidence")
    in_answer, in_another = kind.in_answer(trend), kind.in_answer(Trend())
    before = kind.p_of(0.95)
    acceptance.learn("prose", "model", "confidence", (0.95,) * 30, 0, trend)
    assert kind.p_of(0.95) < before
    assert in_another.p_of(0.95) == kind.p_of(0.95), "what the kind learned holds in other answers"
    assert in_answer.p_of(0.95) < kind.p_of(0.95)
    assert in_answer.p_of(0.3) < kind.p_of(0.3), "tokens with other evidence are doubted too"
    assert in_answer.frequency() == kind.frequency()
