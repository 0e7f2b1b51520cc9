from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.break_even import break_even, gauge
from specchat.stats.curve import CostCurve
from specchat.stats.summary import Figures
from specchat_engine.decoding.costs import MeasuredCosts
from support.drawn_rounds import made_round, simulated

CURVE = CostCurve(((1, 2.0), (7, 5.0)))


def test_a_gauge_that_costs_says_what_it_needs_and_has() -> None:
    found = gauge(0.48, 6, CURVE, 0.2, 0.0)
    needed, has, costs = (found.needed, found.has, 1 - found.speedup)
    assert found.sentence() == f"needs α {needed:.2f} at k = 6, has {has:.2f}: costs {costs * 100:.0f} %"
    assert not found.pays


def test_a_gauge_that_pays_and_one_that_cannot() -> None:
    assert "gains" in gauge(0.95, 6, CURVE, 0.1, 0.0).sentence()
    never = gauge(0.9, 2, CURVE, 2.5, 0.0)
    assert never.needed is None
    assert never.sentence() == "no α pays off at k = 2: it takes 4.0 × a plain round for at most 3 tokens"


@given(st.floats(0, 1), st.integers(1, 8), st.floats(0, 1), st.floats(0, 2))
def test_drafts_pay_exactly_where_alpha_is_beyond_what_is_needed(
    alpha: float, k: int, step_ms: float, between_ms: float
) -> None:
    found = gauge(alpha, k, CURVE, step_ms, between_ms)
    if found.needed is None:
        assert not found.pays
    elif abs(alpha - found.needed) > 1e-6:
        assert found.pays == (alpha > found.needed)


def test_time_beside_the_passes_counts_on_both_sides() -> None:
    assert gauge(0.6, 4, CURVE, 0.2, 5.0).needed < gauge(0.6, 4, CURVE, 0.2, 0.0).needed  # type: ignore[operator]


def test_the_gauge_of_a_turn_is_close_to_what_it_measured() -> None:
    rounds = simulated((0.8,) * 4, 4, lambda width: 1.5 + 0.5 * width, 0.2, other_ms=0.3)
    found = break_even(Figures.of(rounds), MeasuredCosts(((1, 2.0), (5, 4.0)), 0.2))
    assert found is not None
    assert found.k == 4
    speed = Figures.of(rounds).tokens_per_second
    assert speed is not None
    assert found.speedup == pytest.approx(speed * 2.3 / 1000, rel=0.02)


def test_lookup_costs_no_draft_steps() -> None:
    rounds = [made_round(4, 3, source="lookup", ms=(0.0, 4.0, 0.1))] * 20
    found = break_even(Figures.of(rounds), MeasuredCosts(((1, 2.0), (5, 4.0)), 0.7))
    assert found is not None
    assert found.draft_cost == 0


def test_without_a_comparison_or_costs_there_is_no_gauge() -> None:
    costs = MeasuredCosts(((1, 2.0), (5, 4.0)), 0.2)
    assert break_even(Figures.of([made_round(0, 0)]), costs) is None
    assert break_even(Figures.of([made_round(2, 1)]), MeasuredCosts()) is None
