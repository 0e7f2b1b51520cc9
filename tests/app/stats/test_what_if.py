from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.summary import Figures
from specchat.stats.what_if import Chain, WhatIf, chain_of, main_source, predicted, what_if
from specchat_engine.decoding.costs import Basis, CostLine, MeasuredCosts
from specchat_engine.decoding.rounds import Round
from support.drawn_rounds import made_round, rounds_drawn, simulated

LAW = (0.9, 0.85, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5)
COSTS = MeasuredCosts(tuple((width, 1.5 + 0.25 * width) for width in (1, 2, 4, 5, 9)), 0.2)


def verify_ms(width: int) -> float:
    return 1.5 + 0.25 * width


def prediction(rounds: list[Round], ran: int, costs: MeasuredCosts = COSTS) -> WhatIf:
    found = what_if(rounds, costs, ran, 12)
    assert found is not None
    return found


def test_a_prediction_from_k_8_is_what_rounds_at_another_k_give() -> None:
    found = prediction(simulated(LAW, 8, verify_ms, 0.2, seed=3), 8)
    for k in (0, 3, 8):
        really = Figures.of(simulated(LAW, k, verify_ms, 0.2, seed=4)).tokens_per_second
        assert found.points[k].tokens_per_second == pytest.approx(really, rel=0.03), k


def test_lookup_that_finds_a_match_in_half_of_the_rounds_is_predicted_too() -> None:
    half, shorter = (simulated((0.9,) * 8, k, verify_ms, 0.0, seed=seed) for k, seed in ((8, 3), (3, 5)))
    half = [replace(event, source="lookup") for event in half]
    half[::2] = shorter[::2] = [made_round(0, 0, k=8, ms=(0.0, verify_ms(1), 0.1), source="none")] * len(half[::2])
    found = prediction(half, 8)
    assert found.step_ms == 0
    assert found.points[3].tokens_per_second == pytest.approx(Figures.of(shorter).tokens_per_second, rel=0.03)


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(10, 20)), min_size=1, max_size=5),
    st.lists(st.floats(0, 1), min_size=5, max_size=5),
    st.floats(0, 2),
)
def test_a_point_is_the_mean_over_all_that_can_happen(
    counts: list[tuple[int, int]], reach: list[float], step_ms: float
) -> None:
    chain = Chain("lookup", tuple(t for _, t in counts), tuple(a for a, _ in counts), tuple(sorted(reach)[::-1]))
    curve = CostLine(((1, 2.0), (2, 3.5), (7, 4.0)))
    k = len(counts)
    tokens = time = 0.0
    for length, likely in enumerate(chain.lengths(k)):
        time += likely * (curve.at(length + 1) + length * step_ms)
        for fates in product((True, False), repeat=length):
            chance = likely
            for position, stands in enumerate(fates):
                chance *= chain.share(position) if stands else 1 - chain.share(position)
            tokens += chance * (1 + (fates.index(False) if False in fates else length))
    point = predicted(chain, curve, step_ms, 0.3, k)[k]
    assert point.tokens == pytest.approx(tokens)
    assert point.round_ms == pytest.approx(time + 0.3)


def test_measured_interpolated_and_extrapolated_points_are_told_apart() -> None:
    found = [point.basis for point in prediction(simulated(LAW, 8, verify_ms, 0.2), 8).points]
    measured, between, beyond = Basis.MEASURED, Basis.INTERPOLATED, Basis.EXTRAPOLATED
    expected = [measured, measured, between, measured, measured, between, between, between, measured, *[beyond] * 4]
    assert found == expected


def test_a_measured_width_is_not_a_measured_point_if_no_draft_was_so_long() -> None:
    found = prediction([made_round(3, 1, ms=(0.6, 2.5, 0.1))] * 50, 3)
    assert found.points[4].basis is Basis.EXTRAPOLATED
    assert not found.firm(4)


@given(st.floats(0.1, 0.95), st.floats(0.05, 0.9))
def test_tokens_of_a_round_grow_with_k_and_with_alpha(alpha: float, more: float) -> None:
    curve = CostLine(((1, 2.0), (9, 5.0)))

    def at(share: float) -> list[float]:
        counts = (1000,) * 8
        chain = Chain("model", counts, tuple(round(1000 * share) for _ in counts))
        return [point.tokens for point in predicted(chain, curve, 0.1, 0.0, 8)]

    low, high = at(alpha), at(alpha + (1 - alpha) * more)
    assert low == sorted(low)
    assert all(b >= a for a, b in zip(low, high, strict=True))


def test_dearer_drafts_make_the_best_k_no_longer() -> None:
    rounds = simulated(LAW, 8, verify_ms, 0.2, rounds=500)
    best = [prediction(rounds, 8, MeasuredCosts(COSTS.verify, step)).best.k for step in (0.01, 0.2, 0.6, 3.0)]
    assert best == sorted(best, reverse=True)
    assert best[-1] == 0
    assert best[0] > best[-1]


def test_the_gain_of_what_was_set_is_none() -> None:
    found = prediction(simulated(LAW, 8, verify_ms, 0.2, rounds=500), 8)
    assert found.gain(8) == 0
    assert found.gain(found.best.k) >= 0
    assert found.measured == pytest.approx(found.points[8].tokens_per_second, rel=0.02)


def test_with_k_auto_the_gain_compares_with_the_turns_own_rounds() -> None:
    rounds = simulated(LAW, 8, verify_ms, 0.2, rounds=500)
    calm = what_if(rounds, COSTS, "auto", 8)
    assert calm is not None
    assert calm.now == pytest.approx(calm.measured)
    rounds[::10] = [replace(event, ms=replace(event.ms, verify=event.ms.verify + 50)) for event in rounds[::10]]
    busy = what_if(rounds, COSTS, "auto", 8)
    assert busy is not None
    assert busy.measured < 0.7 * calm.measured
    assert busy.gain(busy.best.k) == pytest.approx(calm.gain(calm.best.k))


def test_plain_decoding_is_as_fast_as_the_measured_speed_up_says() -> None:
    rounds = simulated(LAW, 8, verify_ms, 0.2, other_ms=0.0, rounds=500)
    for speedup, fits in ((1.52, True), (1.6, True), (3.0, False)):
        found = what_if(rounds, COSTS, 8, 8, speedup=speedup)
        assert found is not None
        assert found.gain(0) == pytest.approx(1 / speedup - 1)
        assert found.fits is fits, "costs of another state of the machine predict another speed of plain decoding"


def test_nothing_is_predicted_where_nothing_was_drafted_or_measured() -> None:
    drafted = simulated(LAW, 8, verify_ms, 0.2, rounds=20)
    assert what_if([made_round(0, 0)] * 20, COSTS, 0, 8) is None
    assert what_if(drafted, MeasuredCosts(((1, 2.0),), 0.1), 8, 8) is None
    assert what_if([], COSTS, 8, 8) is None


def test_drafts_translated_through_text_are_predicted_like_those_of_a_model() -> None:
    def drafted_by(source: str) -> list[Round]:
        rounds = simulated(LAW, 6, verify_ms, 0.2, seed=3)
        return [replace(event, source=source if event.drafted else "none") for event in rounds]

    own, through_text, other = (prediction(drafted_by(source), 6) for source in ("model", "translated", "lookup"))
    assert through_text.points == own.points
    assert through_text.step_ms == own.step_ms == COSTS.draft_step
    assert other.step_ms != own.step_ms


def test_shares_come_close_to_the_law_that_made_the_rounds() -> None:
    law = (0.9, 0.8, 0.6, 0.7)
    chain = chain_of(simulated(law, 4, lambda _: 1.0, 0.1), "model")
    assert chain.shares(4) == pytest.approx(law, abs=0.04)


def test_a_position_that_was_never_compared_has_the_mean_of_all() -> None:
    chain = chain_of([made_round(2, 1)] * 10, "model")
    assert chain.share(7) == pytest.approx(chain.alpha) == pytest.approx(0.5)


def test_few_comparisons_lean_on_the_mean_and_do_not_count_as_measured() -> None:
    assert 0.6 < Chain("model", (100, 1), (60, 1)).share(1) < 0.8
    chain = Chain("model", (20, 9, 3), (15, 6, 3))
    assert [chain.measured(k) for k in range(5)] == [True, True, True, False, False]


def test_lookups_drafts_reach_only_as_far_as_their_matches() -> None:
    rounds = [made_round(4, 4, source="lookup"), made_round(0, 0, k=4), made_round(2, 2, source="lookup", k=4)]
    chain = chain_of([*rounds, made_round(0, 0, k=0), made_round(6, 1)], "lookup")
    assert chain.reach == pytest.approx((2 / 3, 2 / 3, 1 / 3, 1 / 3))
    assert chain.lengths(4) == pytest.approx([1 / 3, 0, 1 / 3, 0, 1 / 3])
    assert chain.lengths(1) == pytest.approx([1 / 3, 2 / 3])
    model = chain_of([made_round(2, 1, k=6)] * 5, "model")
    assert model.lengths(6) == [0, 0, 0, 0, 0, 0, 1], "a draft model drafts as far as k lets it"


@given(rounds_drawn(), st.integers(0, 10), st.sampled_from(["model", "lookup"]))
def test_shares_and_lengths_are_probabilities(rounds: list, k: int, source: str) -> None:
    chain = chain_of(rounds, source)
    assert all(0 <= share <= 1 for share in chain.shares(k))
    assert len(chain.lengths(k)) == k + 1
    assert sum(chain.lengths(k)) == pytest.approx(1)
    assert min(chain.lengths(k)) >= 0


def test_the_main_source_drafted_most_often() -> None:
    rounds = [made_round(1, 1), made_round(9, 9, source="lookup"), made_round(1, 0), *[made_round(0, 0)] * 5]
    assert main_source(rounds) == "model"
    assert main_source([made_round(0, 0)]) is None
