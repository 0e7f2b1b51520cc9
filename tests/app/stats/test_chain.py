from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.chain import Chain, chain_of, main_source
from support.drawn_rounds import made_round, rounds_drawn, simulated


def test_shares_come_close_to_the_law_that_made_the_rounds() -> None:
    law = (0.9, 0.8, 0.6, 0.7)
    chain = chain_of(simulated(law, 4, lambda _: 1.0, 0.1), "model")
    assert chain.shares(4) == pytest.approx(law, abs=0.04)


def test_a_position_that_was_never_compared_has_the_mean_of_all() -> None:
    chain = chain_of([made_round(2, 1)] * 10, "model")
    assert chain.share(7) == pytest.approx(chain.alpha) == pytest.approx(0.5)


def test_few_comparisons_lean_on_the_mean() -> None:
    chain = Chain("model", (100, 1), (60, 1))
    assert 0.6 < chain.share(1) < 0.8


def test_lookups_drafts_reach_only_as_far_as_their_matches() -> None:
    rounds = [made_round(4, 4, source="lookup"), made_round(0, 0, k=4), made_round(2, 2, source="lookup", k=4)]
    chain = chain_of([*rounds, made_round(0, 0, k=0), made_round(6, 1)], "lookup")
    assert chain.reach == pytest.approx((2 / 3, 2 / 3, 1 / 3, 1 / 3))
    assert chain.lengths(4) == pytest.approx([1 / 3, 0, 1 / 3, 0, 1 / 3])
    assert chain.lengths(1) == pytest.approx([1 / 3, 2 / 3])


def test_a_draft_model_drafts_as_far_as_k_lets_it() -> None:
    chain = chain_of([made_round(2, 1, k=6)] * 5, "model")
    assert chain.lengths(6) == [0, 0, 0, 0, 0, 0, 1]


@given(rounds_drawn(), st.integers(0, 10), st.sampled_from(["model", "lookup"]))
def test_shares_and_lengths_are_probabilities(rounds: list, k: int, source: str) -> None:
    chain = chain_of(rounds, source)
    assert all(0 <= share <= 1 for share in chain.shares(k))
    assert len(chain.lengths(k)) == k + 1
    assert sum(chain.lengths(k)) == pytest.approx(1)
    assert min(chain.lengths(k)) >= 0


def test_positions_count_as_measured_only_where_they_were_compared_often() -> None:
    chain = Chain("model", (20, 9, 3), (15, 6, 3))
    assert [chain.measured(k) for k in range(5)] == [True, True, True, False, False]


def test_the_main_source_drafted_most_often() -> None:
    rounds = [made_round(1, 1), made_round(9, 9, source="lookup"), made_round(1, 0), *[made_round(0, 0)] * 5]
    assert main_source(rounds) == "model"
    assert main_source([made_round(0, 0)]) is None
