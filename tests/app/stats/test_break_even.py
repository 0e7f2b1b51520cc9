from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.break_even import break_even
from specchat.stats.summary import Figures
from specchat_engine.decoding.rounds import Round
from support.drawn_rounds import made_round, rounds_drawn, simulated


def sentence(rounds: list[Round], speedup: float) -> str:
    found = break_even(Figures.of(rounds), speedup)
    assert found is not None
    return found.sentence()


HALF = [made_round(4, 2)] * 10


def test_a_gauge_says_what_it_needs_what_it_has_and_what_was_measured() -> None:
    assert sentence(HALF, 0.88) == "needs α 0.73, has 0.67: costs 12 %"
    assert sentence(HALF, 1.58) == "needs α 0.40, has 0.67: gains 58 %"
    assert sentence(HALF, 1.0) == "needs α 0.67, has 0.67: as fast as plain"
    assert sentence(HALF, 0.4) == "no α pays off: 0.77 × plain if all were accepted"
    assert sentence(HALF, 6.42) == "pays off at any α, has 0.67: gains 542 %", "not `needs α 0.00`"


@given(rounds_drawn(), st.floats(0.05, 8))
def test_drafts_pay_exactly_where_alpha_is_beyond_what_is_needed(rounds: list[Round], speedup: float) -> None:
    found = break_even(Figures.of(rounds), speedup)
    if found is None:
        assert Figures.of(rounds).alpha is None
    elif found.needed is None:
        assert not found.pays
    elif abs(found.has - found.needed) > 1e-6:
        assert found.pays == (found.has > found.needed)


def test_an_answer_at_the_needed_alpha_is_as_fast_as_plain() -> None:
    def took(alpha: float) -> Figures:
        return Figures.of(simulated((alpha,) * 4, 4, lambda width: 1.5 + 0.5 * width, 0.2, other_ms=0.0, seed=5))

    def speedup(figures: Figures) -> float:
        return figures.num_tokens * 2.0 / figures.decode_ms

    found = break_even(took(0.8), speedup(took(0.8)))
    assert found is not None
    assert found.needed is not None
    assert speedup(took(found.needed)) == pytest.approx(1, abs=0.03)


def test_without_a_comparison_or_a_speed_up_there_is_no_gauge() -> None:
    assert break_even(Figures.of([made_round(0, 0)]), 1.0) is None
    assert break_even(Figures.of([made_round(2, 1)]), None) is None
