from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.curve import costs_of, expected_speedup, fitted
from specchat.stats.summary import Figures
from specchat_engine.decoding.costs import Basis, CostLine, MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import speedup_over_plain
from support.drawn_rounds import made_round, simulated

CURVE = CostLine(((1, 2.0), (3, 3.0), (9, 6.0)))

measured = st.dictionaries(st.integers(1, 20), st.floats(0.1, 50), min_size=2, max_size=6).map(
    lambda points: tuple(sorted(points.items()))
)


def test_a_measured_width_has_its_own_value_and_others_lie_on_lines() -> None:
    assert [CURVE.at(width) for width in (1, 2, 3, 6, 9, 11)] == pytest.approx([2.0, 2.5, 3.0, 4.5, 6.0, 7.0])
    bases = [Basis.MEASURED, Basis.INTERPOLATED, Basis.MEASURED, Basis.EXTRAPOLATED]
    assert [CURVE.basis(width) for width in (1, 2, 9, 10)] == bases


@given(measured, st.integers(1, 40))
def test_no_pass_costs_nothing_and_beyond_the_widest_none_gets_cheaper(
    points: tuple[tuple[int, float], ...], width: int
) -> None:
    curve = CostLine(points)
    assert curve.at(width) > 0
    last, cost = points[-1]
    assert curve.at(last + width) >= cost - 1e-9
    assert all(curve.at(known) == pytest.approx(ms) for known, ms in points)


@given(measured, st.floats(0, 1), st.data())
def test_between_two_measured_widths_the_cost_lies_between_theirs(
    points: tuple[tuple[int, float], ...], share: float, data: st.DataObject
) -> None:
    place = data.draw(st.integers(0, len(points) - 2))
    (left, low), (right, high) = points[place], points[place + 1]
    width = left + round(share * (right - left))
    assert min(low, high) - 1e-9 <= CostLine(points).at(width) <= max(low, high) + 1e-9


def test_one_width_makes_no_curve() -> None:
    assert MeasuredCosts(((1, 2.0),)).curve is None
    assert MeasuredCosts(((1, 2.0), (5, 0.0))).curve is None
    assert MeasuredCosts(((1, 2.0), (5, 3.0))).curve == CostLine(((1, 2.0), (5, 3.0)))


def test_costs_come_from_all_rounds_but_the_first_if_none_were_recorded() -> None:
    verify_ms = (90.0, 3.1, 3.2, 3.3)
    rounds = [made_round(4, 2, index=index, ms=(0.8, ms, 0.1)) for index, ms in enumerate(verify_ms)]
    assert costs_of(rounds, plain_ms=2.0) == MeasuredCosts(((1, 2.0), (5, pytest.approx(3.2))), pytest.approx(0.2))
    assert costs_of([]) == MeasuredCosts()


RECORD = MeasuredCosts(((1, 2.0), (2, 3.0), (9, 6.0)), 0.2)


def passes(width: int, ms: float, count: int, step_ms: float = 0.5) -> list[Round]:
    drafted = width - 1
    return [made_round(drafted, 0, index=index, ms=(drafted * step_ms, ms, 0.1)) for index in range(1, count + 1)]


def test_a_record_keeps_its_shape_and_takes_the_pace_of_the_turn() -> None:
    slow = fitted(RECORD, passes(2, 6.0, 10))
    assert dict(slow.verify) == pytest.approx({1: 4.0, 2: 6.0, 9: 12.0})
    assert slow.draft_step == pytest.approx(0.5)


def test_a_width_that_the_record_lacks_comes_from_the_turn() -> None:
    found = dict(fitted(RECORD, [*passes(2, 3.0, 10), *passes(5, 4.2, 3), *passes(6, 9.0, 2)]).verify)
    assert found == pytest.approx({1: 2.0, 2: 3.0, 5: 4.2, 9: 6.0})


def test_few_passes_of_a_turn_change_nothing_that_is_known_and_one_slow_pass_not_its_pace() -> None:
    assert fitted(RECORD, passes(2, 30.0, 7)) == RECORD
    assert fitted(RECORD, []) == RECORD
    rounds = [*passes(2, 3.0, 10), *passes(2, 300.0, 1)]
    assert dict(fitted(RECORD, rounds).verify) == pytest.approx(dict(RECORD.verify))


@given(st.floats(0.1, 20), st.floats(0.1, 20), st.floats(0.3, 1), st.floats(0, 1))
def test_the_load_under_which_costs_were_recorded_does_not_change_what_is_expected(
    before: float, now: float, share: float, other_ms: float
) -> None:
    rounds = simulated(
        (share,) * 4, 4, lambda width: now * (1.5 + 0.5 * width), now * 0.2, other_ms=other_ms, rounds=50
    )
    figures, costs = Figures.of(rounds), MeasuredCosts(((1, before * 2.0), (5, before * 4.0)), before * 0.2)
    expected = expected_speedup(figures, {5: 50}, costs)
    assert expected == pytest.approx(speedup_over_plain(now * 2.0, figures))


def test_nothing_is_expected_before_plain_passes_were_measured() -> None:
    figures = Figures.of([made_round(4, 2)] * 9)
    assert expected_speedup(figures, {5: 9}, MeasuredCosts(((2, 2.0), (5, 4.0)), 0.2)) is None
    assert expected_speedup(figures, {5: 9}, MeasuredCosts()) is None
    assert expected_speedup(Figures(), {}, MeasuredCosts(((1, 2.0), (5, 4.0)), 0.2)) is None
