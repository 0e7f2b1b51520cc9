"""The rate of a pull."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.models.pull import RateMeter


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_steady_download_has_its_rate_and_its_end() -> None:
    clock = Clock()
    meter = RateMeter(clock)
    for second in range(20):
        meter.update(second * 1000)
        clock.now += 1
    assert meter.rate == pytest.approx(1000, rel=0.2)
    assert meter.left(5000) == pytest.approx(5, rel=0.25)


def test_bytes_from_before_the_start_do_not_count() -> None:
    clock = Clock()
    meter = RateMeter(clock)
    meter.update(10**9)
    assert meter.rate is None
    clock.now += 1
    assert meter.rate == 0
    assert meter.left(5) is None


def test_a_new_start_gives_no_negative_rate() -> None:
    clock = Clock()
    meter = RateMeter(clock)
    for done in (0, 5000, 0, 100):
        meter.update(done)
        clock.now += 1
    assert meter.rate == pytest.approx(50)


def test_the_rate_falls_during_a_stall() -> None:
    clock = Clock()
    meter = RateMeter(clock)
    for done in (0, 6000):
        meter.update(done)
        clock.now += 1
    clock.now += 58
    assert meter.rate == pytest.approx(100)


@given(steps=st.lists(st.tuples(st.floats(0, 10), st.integers(0, 10**9)), max_size=60))
def test_a_rate_lies_between_the_slowest_and_the_fastest(
    steps: list[tuple[float, int]],
) -> None:
    clock, done = Clock(), 0
    meter = RateMeter(clock)
    for seconds, more in steps:
        clock.now += seconds
        done += more
        meter.update(done)
        rate = meter.rate
        assert rate is None or 0 <= rate <= done / 0.5
