from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.models.patience import Patience
from specchat.models.progress import Meter
from specchat.models.sizes import clock, count, in_words


class Clock:
    """Time that a test makes pass."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_steady_download_has_its_rate_and_its_end() -> None:
    clock = Clock()
    meter = Meter(clock)
    for second in range(20):
        meter.see(second * 1000)
        clock.now += 1
    assert meter.rate == pytest.approx(1000, rel=0.2)
    assert meter.left(5000) == pytest.approx(5, rel=0.25)


def test_what_is_there_at_the_start_is_not_speed() -> None:
    clock = Clock()
    meter = Meter(clock)
    meter.see(10**9)
    assert meter.rate is None
    clock.now += 1
    assert meter.rate == 0
    assert meter.left(5) is None


def test_a_new_start_is_no_negative_speed() -> None:
    clock = Clock()
    meter = Meter(clock)
    for done in (0, 5000, 0, 100):
        meter.see(done)
        clock.now += 1
    assert meter.rate == pytest.approx(50)


def test_a_stall_shows() -> None:
    clock = Clock()
    meter = Meter(clock)
    for done in (0, 6000):
        meter.see(done)
        clock.now += 1
    clock.now += 58
    assert meter.rate == pytest.approx(100)


@given(steps=st.lists(st.tuples(st.floats(0, 10), st.integers(0, 10**9)), max_size=60))
def test_a_rate_lies_between_the_slowest_and_the_fastest_and_takes_little_memory(
    steps: list[tuple[float, int]],
) -> None:
    clock, done = Clock(), 0
    meter = Meter(clock)
    for seconds, more in steps:
        clock.now += seconds
        done += more
        meter.see(done)
        rate = meter.rate
        assert rate is None or 0 <= rate <= done / 0.5
    assert len(meter._seen) <= 70


@pytest.mark.parametrize(("size", "words"), [(0, "0 B"), (999, "999 B"), (188_000, "188.0 kB"), (4.4e9, "4.4 GB")])
def test_bytes_read_as_on_the_hub(size: float, words: str) -> None:
    assert in_words(size) == words


@pytest.mark.parametrize(("seconds", "words"), [(7.4, "0:07"), (750, "12:30"), (7500, "2:05:00")])
def test_durations_read_as_on_a_clock(seconds: float, words: str) -> None:
    assert clock(seconds) == words


@pytest.mark.parametrize(("number", "words"), [(None, ""), (0, ""), (1_540_000_000, "1.54B"), (135e6, "135M")])
def test_parameters_read_as_in_names(number: int | None, words: str) -> None:
    assert count(number) == words


def test_waits_grow_to_a_limit() -> None:
    patience = Patience(first_wait=1, longest_wait=5)
    assert [patience.wait_after(failures) for failures in (1, 2, 3, 4, 50)] == [1, 2, 4, 5, 5]
