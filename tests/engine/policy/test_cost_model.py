"""The cost of a pass by its width is learned from passes, in whatever mood the machine is."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.decoding.drafts import DrafterTraits
from specchat_engine.policy.cost_model import CostCurve, CostsByThreads, DraftCosts

curves = st.lists(st.floats(0.05, 0.9), min_size=16, max_size=16).map(
    lambda steps: [0.0, *(1 + sum(steps[:width]) for width in range(len(steps)))]
)


def learned(curve: list[float], widths: list[int], *, times: int = 15, depth: int = 0) -> CostCurve:
    costs = CostCurve(slope=0.35)
    for _ in range(times):
        for width in widths:
            costs.observe(width, depth, curve[width])
    return costs


@given(curves)
def test_a_measured_width_has_its_measured_cost(curve: list[float]) -> None:
    costs = learned(curve, [1, 2, 5, 16])
    for width in (1, 2, 5, 16):
        assert costs.at(width, 0) == pytest.approx(curve[width], rel=0.02)


@given(st.lists(st.tuples(st.integers(1, 6), st.sampled_from([100, 3000]), st.floats(0.5, 3.0)), max_size=60))
def test_reading_costs_does_not_change_them(passes: list[tuple[int, int, float]]) -> None:
    looked, alone = CostCurve(slope=0.35), CostCurve(slope=0.35)
    for width, depth, milliseconds in passes:
        for costs in (looked, alone):
            costs.observe(width, depth, milliseconds)
        looked.measured(depth)
        looked.to_json()
    assert looked.to_json() == alone.to_json()
    assert looked.measured(100) == alone.measured(100)


def test_a_step_stays_a_step() -> None:
    curve = [0.0, *[1.0] * 8, *[2.3] * 8]
    costs = learned(curve, [*range(1, 17)])
    drawn = costs.curve(0, 16)
    assert drawn is not None
    assert drawn[8] == pytest.approx(1, rel=0.02)
    assert drawn[9] == pytest.approx(2.3, rel=0.02)


def test_costs_are_interpolated_between_widths_and_extrapolated_beyond_them() -> None:
    costs = learned([0.0, 1.0, 0, 0, 0, 3.0], [1, 5])
    assert costs.at(3, 0) == pytest.approx(2, rel=0.02)
    assert costs.at(9, 0) == pytest.approx(3 + 4 * 0.35, rel=0.02), "no steeper than usual, so that it is tried"


@given(st.lists(st.tuples(st.integers(1, 24), st.floats(0.5, 9)), min_size=1, max_size=40), st.integers(1, 32))
def test_the_curve_never_falls_and_covers_all_widths(seen: list[tuple[int, float]], most: int) -> None:
    """However few passes were seen, and also if a wider one seems cheaper."""
    costs = CostCurve(slope=0.35)
    for width, milliseconds in seen:
        costs.observe(width, 0, milliseconds)
    drawn = costs.curve(0, most)
    assert drawn is not None
    assert len(drawn) == most + 1
    assert drawn == sorted(drawn)
    assert drawn[1] > 0


def test_with_one_known_width_the_others_are_estimated() -> None:
    costs = learned([0.0, 2.0], [1], times=1)
    assert costs.at(2, 0) == pytest.approx(2 * 1.35)


def test_nothing_is_known_before_the_first_pass() -> None:
    costs = CostCurve(slope=0.35)
    assert (costs.at(1, 0), costs.curve(0, 4)) == (None, None)
    costs.observe(1, 0, 0.0)
    assert costs.at(1, 0) is None, "a clock that stood still measures nothing"


def test_one_slow_pass_among_many_changes_nothing() -> None:
    costs = learned([0.0, 1.0, 1.2], [1, 2])
    costs.observe(2, 0, 30.0)
    assert costs.at(2, 0) == pytest.approx(1.2, rel=0.1)


def test_a_width_that_was_slow_once_is_tried_again() -> None:
    """Else it would never be tried again."""
    costs = learned([0.0, 1.0, 1.1, 1.2, 0, 1.4], [1, 2, 3, 5])
    costs.observe(4, 0, 13.0)
    guess = costs.at(4, 0)
    assert guess is not None
    assert guess < 7


def test_a_slower_machine_raises_the_cost_of_all_widths() -> None:
    costs = learned([0.0, 1.0, 1.2, 1.4, 1.6, 1.8], [1, 5])
    for _ in range(60):
        costs.observe(5, 0, 3 * 1.8)
    wide, plain = costs.at(5, 0), costs.at(1, 0)
    assert wide is not None
    assert plain is not None
    assert wide / plain == pytest.approx(1.8, rel=0.1)
    assert plain == pytest.approx(3, rel=0.1)


def test_a_machine_that_slows_down_soon_after_it_was_measured_keeps_its_steps() -> None:
    costs = learned([0.0, 1.0, 1.5, 1.75], [1, 2, 3], times=1)
    for _ in range(20):
        costs.observe(1, 0, 2.0)
    assert costs.curve(0, 3) == pytest.approx([0.0, 2.0, 3.0, 3.5], rel=0.15)


def test_noisy_passes_of_one_width_do_not_drift_away_from_the_other_widths() -> None:
    """Noise only adds to a time, and the level that follows it must not carry the widths that do not come."""
    chance = random.Random(1)
    costs = learned([0.0, 1.0, 1.5, 0, 2.0], [1, 2, 4])
    for _ in range(3000):
        costs.observe(1, 0, 1.0 + chance.expovariate(4))
    plain, wide = costs.at(1, 0), costs.at(4, 0)
    assert plain is not None
    assert wide is not None
    assert wide / plain == pytest.approx(2, rel=0.1)


def test_depths_have_their_own_costs_and_unknown_ones_use_the_nearest() -> None:
    costs = learned([0.0, 1.0, 1.5], [1, 2])
    for _ in range(20):
        costs.observe(1, 5000, 2.0)
        costs.observe(2, 5000, 2.2)
    deep, shallow = [[costs.at(width, depth) or 0 for width in (1, 2)] for depth in (5000, 0)]
    assert deep[1] / deep[0] == pytest.approx(1.1, rel=0.03)
    assert shallow[1] / shallow[0] == pytest.approx(1.5, rel=0.03)
    assert [costs.at(width, 100_000) for width in (1, 2)] == deep


def test_a_curve_includes_new_widths_at_once() -> None:
    costs = learned([0.0, 1.0, 1.2], [1, 2])
    before = costs.curve(0, 8)
    costs.observe(8, 0, 1.3)
    after = costs.curve(0, 8)
    assert before is not None
    assert after is not None
    assert after[8] < before[8]


def test_learned_values_survive_a_restart() -> None:
    costs = learned([0.0, 1.0, 1.5, 0, 2.0], [1, 2, 4])
    again = CostCurve.from_json(json.loads(json.dumps(costs.to_json())), slope=0.35)
    assert again.measured(0) == pytest.approx(costs.measured(0))


def test_one_new_time_corrects_a_disturbed_one_from_an_earlier_start() -> None:
    costs = learned([0.0, 1.0, 90.0], [1, 2])
    again = CostCurve.from_json(json.loads(json.dumps(costs.to_json())), slope=0.35)
    again.observe(2, 0, 1.5)
    assert again.measured(0) == {1: 1.0, 2: 1.5}


def test_a_size_that_took_longer_than_a_larger_one_was_disturbed() -> None:
    drawn = learned([0.0, 1.0, 0, 0, 9.0, 0, 0, 0, 1.5], [1, 4, 8]).curve(0, 8)
    assert drawn is not None
    assert drawn[4] == pytest.approx(1.5, rel=0.02)


def test_a_size_lacks_times_until_there_are_enough_that_can_be_true() -> None:
    costs = CostCurve(slope=0.35)
    assert costs.lacks(1, 1, 0)
    for size, milliseconds in ((1, 1.0), (4, 3.9), (8, 8.1)):
        costs.observe(size, 0, milliseconds)
    assert [costs.lacks(size, 1, 0) for size in (1, 4, 8)] == [False, False, True]
    assert costs.lacks(4, 2, 0)
    costs.observe(8, 0, 7.9)
    assert not costs.lacks(8, 1, 0)


def test_one_pass_from_an_earlier_run_counts_as_one_pass() -> None:
    costs = CostCurve(slope=0.35)
    costs.observe(1, 0, 30.0)
    again = CostCurve.from_json(json.loads(json.dumps(costs.to_json())), slope=0.35)
    assert again.seen(1) == 1
    again.observe(1, 0, 1.0)
    assert again.at(1, 0) == 1.0


def with_another_number_of_threads(known: Mapping[int, float]) -> CostsByThreads:
    """Costs by width that are well known with two threads; one thread computes now."""
    costs = CostsByThreads()
    costs.use(2)
    for width, milliseconds in known.items():
        for _ in range(8):
            costs.current.observe(width, 0, milliseconds)
    costs.use(1)
    return costs


def test_costs_belong_to_a_number_of_threads() -> None:
    costs = CostsByThreads()
    costs.current.observe(1, 0, 10.0)
    costs.use(2)
    assert costs.current.at(1, 0) == pytest.approx(10.0), "learned before the number was known"
    costs.use(4)
    assert not costs.current.measured(0)
    costs.current.observe(1, 0, 6.0)
    again = CostsByThreads.from_json(json.loads(json.dumps(costs.to_json())))
    assert (again.of(2).at(1, 0), again.of(4).at(1, 0)) == (pytest.approx(10.0), pytest.approx(6.0))


@given(curves, st.floats(0.2, 5.0))
def test_another_number_of_threads_has_the_steps_of_the_known_one_until_it_was_measured(
    curve: list[float], slower: float
) -> None:
    costs = with_another_number_of_threads({width: curve[width] for width in (1, 2, 3, 4, 16)})
    assert costs.current.curve(0, 16) == pytest.approx(costs.of(2).curve(0, 16))
    for _ in range(8):
        costs.current.observe(1, 0, slower * curve[1])
    expected = [slower * each for each in costs.of(2).curve(0, 16) or ()]
    assert costs.current.curve(0, 16) == pytest.approx(expected)
    assert costs.current.seen(2) == 0, "what was taken over was not measured"


def test_what_a_number_of_threads_was_measured_at_is_its_own() -> None:
    costs = with_another_number_of_threads({1: 10.0, 2: 16.0, 4: 20.0})
    for _ in range(15):
        costs.current.observe(1, 0, 20.0)
        costs.current.observe(2, 0, 36.0)
    assert costs.current.curve(0, 4) == pytest.approx([0, 20.0, 36.0, 40.5, 45.0])
    assert costs.of(2).at(2, 0) == pytest.approx(16.0)
    assert [*costs.to_json()["1"]["0"]] == ["1", "2"], "only what was measured is kept"


MODEL = DrafterTraits("model", evidence="confidence", cost="step")


def test_a_draft_costs_about_the_same_with_another_number_of_threads() -> None:
    costs = DraftCosts()
    for length in (1, 5) * 8:
        costs.observe(MODEL, length, 0, 5.0 * length)
    costs.by_threads.use(2)
    costs.by_threads.use(1)
    assert costs.expected(MODEL, 0, 3, 10.0) == pytest.approx([0, 5, 10, 15])
    costs.observe(MODEL, 1, 0, 50.0)
    assert costs.expected(MODEL, 0, 1, 10.0)[1] < 25, "one disturbed draft does not rule the drafter out"
    for _ in range(15):
        costs.observe(MODEL, 8, 0, 80.0)
        costs.observe(MODEL, 1, 0, 10.0)
    assert costs.expected(MODEL, 0, 8, 10.0) == pytest.approx([0, 10, 20, 30, 40, 50, 60, 70, 80], rel=0.05)


def test_a_disturbed_pass_with_another_number_of_threads_does_not_rule_its_width_out() -> None:
    costs = with_another_number_of_threads({1: 10.0, 2: 15.0, 4: 20.0, 8: 30.0})
    for _ in range(8):
        costs.current.observe(1, 0, 20.0)
    costs.current.observe(4, 0, 400.0)
    curve = costs.current.curve(0, 8) or []
    assert curve[2] == pytest.approx(30.0)
    assert 40.0 < curve[4] < 200.0


def test_a_size_beyond_those_that_are_known_elsewhere_says_how_much_slower_this_number_of_threads_is() -> None:
    costs = DraftCosts()
    for length in (1, 4) * 8:
        costs.observe(MODEL, length, 0, 1.0 * length)
    costs.by_threads.use(2)
    costs.by_threads.use(1)
    for _ in range(8):
        costs.observe(MODEL, 8, 0, 8.0)
    assert costs.expected(MODEL, 0, 8, 10.0) == pytest.approx([0, 1, 2, 3, 4, 5, 6, 7, 8])


def test_in_whatever_order_depths_are_asked_for_each_has_the_costs_of_its_own() -> None:
    def known() -> CostsByThreads:
        costs = CostsByThreads()
        for depth, further in ((0, 2.0), (5000, 5.0)):
            for width in (1, 4):
                for _ in range(8):
                    costs.current.observe(width, depth, 10.0 * (further if width == 4 else 1.0))
        costs.use(2)
        costs.use(1)
        for _ in range(8):
            costs.current.observe(1, 0, 10.0)
        return costs

    shallow, deep = known().current, known().current
    assert shallow.curve(0, 4) == pytest.approx([0, 10, 40 / 3, 50 / 3, 20])
    assert deep.curve(5000, 4) == pytest.approx([0, 10, 70 / 3, 110 / 3, 50])
    assert deep.curve(0, 4) == pytest.approx(shallow.curve(0, 4))


HEADS = DrafterTraits("heads", evidence="nothing", cost="draft")
LOOKUP = DrafterTraits("lookup", evidence="match", cost="nothing")


@pytest.mark.parametrize(("traits", "costs"), [(MODEL, [0, 1, 2, 3]), (HEADS, [0, 1, 1, 1]), (LOOKUP, [0, 0, 0, 0])])
def test_before_a_draft_was_timed_each_of_its_passes_costs_a_tenth_of_a_plain_one(
    traits: DrafterTraits, costs: list[float]
) -> None:
    assert DraftCosts().expected(traits, 0, 3, 10.0)[1:] == pytest.approx(costs[1:])


def test_one_slow_draft_does_not_make_a_drafter_expensive() -> None:
    costs = DraftCosts()
    costs.by_threads.current.observe(4, 0, 30.0)
    assert costs.expected(MODEL, 0, 4, 10.0)[4] < 16
    for _ in range(10):
        costs.by_threads.current.observe(4, 0, 6.0)
    assert costs.expected(MODEL, 0, 4, 10.0)[4] == pytest.approx(6.0, rel=0.1)


def test_reading_costs_what_it_took() -> None:
    costs = DraftCosts()
    assert costs.read_ms is None
    costs.learn_reading(200, 100.0)
    assert costs.read_ms == pytest.approx(0.5)


@pytest.mark.parametrize(
    "kept",
    [
        {"0": {"1": [-1, 8]}},
        {"0": {"1": [1, 0]}},
        {"0": {"0": [1, 8]}},
        {"0": {"1": ["x", 8]}},
        {"0": {"1": 1.0}},
        {"a": {"1": [1, 8]}},
        {"0": 3},
    ],
)
def test_a_damaged_record_is_rejected(kept: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError, AttributeError)):
        CostCurve.from_json(kept, slope=0.35)


def test_a_draft_of_one_pass_costs_the_same_at_any_length() -> None:
    costs = DraftCosts()
    for _ in range(10):
        costs.observe(HEADS, 4, 0, 3.0)
    assert costs.expected(HEADS, 0, 6, 10.0) == pytest.approx([0, 3, 3, 3, 3, 3, 3])
