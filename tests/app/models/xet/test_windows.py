"""How large the pieces are that Xet's storage is asked for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.models.xet.windows import LARGEST, SMALLEST, next_size

SIZES = st.integers(1, LARGEST)


@given(SIZES, st.floats(0, 1_000))
def test_a_window_stays_within_its_bounds(size: int, seconds: float) -> None:
    assert SMALLEST <= next_size(size, seconds) <= LARGEST


@given(st.floats(1e3, 1e10))
def test_windows_settle_at_some_seconds_whatever_the_connection(rate: float) -> None:
    size = SMALLEST
    for _ in range(20):
        size = next_size(size, size / rate)
    assert size == next_size(size, size / rate)
    assert size == SMALLEST or size / rate <= 4
    assert size == LARGEST or size / rate >= 1


@pytest.mark.parametrize(("seconds", "expected"), [(0.2, 4 * 2**20), (2.0, 2 * 2**20), (9.0, 2**20)])
def test_a_window_follows_the_time_that_one_took(seconds: float, expected: int) -> None:
    assert next_size(2 * 2**20, seconds) == expected
