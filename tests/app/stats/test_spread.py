from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.stats.spread import ERROR, Spread

values = st.lists(st.floats(0.01, 1e6), min_size=1, max_size=60)


@given(values, st.floats(0, 1))
def test_a_quantile_is_within_one_per_cent_of_the_value_of_that_rank(numbers: list[float], share: float) -> None:
    rank = max(1, math.ceil(share * len(numbers)))
    assert Spread.of(numbers).quantile(share) == pytest.approx(sorted(numbers)[rank - 1], rel=ERROR * 1.001)


@given(values, values, values)
def test_spreads_of_parts_add_up_to_the_spread_of_all(a: list[float], b: list[float], c: list[float]) -> None:
    parts = [Spread.of(part) for part in (a, b, c)]
    assert Spread.of(a + b + c) == parts[0] + (parts[1] + parts[2]) == parts[2] + parts[0] + parts[1]


@given(values, st.integers(1, 20))
def test_bins_are_few_neighbours_and_hold_every_value(numbers: list[float], most: int) -> None:
    bins = Spread.of(numbers).bins(most)
    assert len(bins) <= most
    assert sum(count for _, _, count in bins) == len(numbers)
    assert all(left[1] == pytest.approx(right[0]) for left, right in pairwise(bins))
    assert bins[0][0] <= min(numbers) * (1 + 1e-9)
    assert max(numbers) <= bins[-1][1] * (1 + 1e-9)


@given(values)
def test_a_spread_survives_being_kept(numbers: list[float]) -> None:
    assert Spread.from_json(Spread.of(numbers).to_json()) == Spread.of(numbers)


def test_its_room_is_bounded_whatever_comes() -> None:
    assert len(Spread.of(10.0**power for power in range(-300, 300)).counts) < 1400
    assert Spread.of([0.0, -1.0]).count == 2


def test_nothing_has_no_quantile_and_a_forged_record_is_refused() -> None:
    assert Spread().quantile(0.5) is None
    for forged in ([[10**9, 1]], [[1, -1]], [[1]], 7):
        with pytest.raises(ValueError, match=r"\S"):
            Spread.from_json(forged)
