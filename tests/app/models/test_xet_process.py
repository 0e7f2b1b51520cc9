"""The windows that are requested from Xet's storage: their sizes, their order, and that they are complete."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.models.xet_process import LARGEST, SMALLEST, Order, next_size, windows

SIZES = st.integers(1, LARGEST)

CONTENT = random.Random(3).randbytes(5 * SMALLEST + 17)


class Storage:
    """A stand-in for hf_xet's session and group. The second window is late, and one may be short."""

    def __init__(self, short: int = -1) -> None:
        self._short = short
        self._third = threading.Event()

    def new_download_stream_group(self, **options: object) -> Storage:
        return self

    def download_stream(self, info: object, start: int, end: int) -> Iterator[bytes]:
        number = start // SMALLEST
        if number == 1:
            self._third.wait(600)
        yield CONTENT[start : start + 1_000]
        if number != self._short:
            yield CONTENT[start + 1_000 : end]
        if number == 2:
            self._third.set()


def order(start: int = 0) -> Order:
    return Order("ab" * 32, start, len(CONTENT), "http://localhost", {"Authorization": "Bearer x"})


def test_windows_are_in_order_even_if_a_later_one_is_ready_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_xet.XetSession", lambda _: Storage())
    assert b"".join(windows(order())) == CONTENT


def test_nothing_follows_a_short_window(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hf_xet.XetSession", lambda _: Storage(short=2))
    came: list[bytes] = []
    with pytest.raises(EOFError, match=f"its storage gave 1000 of {SMALLEST} bytes"):
        came.extend(windows(order()))
    assert b"".join(came) == CONTENT[: 2 * SMALLEST]


@given(SIZES, st.floats(0, 1_000))
def test_a_window_stays_within_its_bounds(size: int, seconds: float) -> None:
    assert SMALLEST <= next_size(size, seconds) <= LARGEST


@given(st.floats(1e3, 1e10))
def test_a_window_takes_some_seconds_at_any_speed(rate: float) -> None:
    size = SMALLEST
    for _ in range(20):
        size = next_size(size, size / rate)
    assert size == next_size(size, size / rate)
    assert size == SMALLEST or size / rate <= 4
    assert size == LARGEST or size / rate >= 1


@pytest.mark.parametrize(("seconds", "expected"), [(0.2, 4 * 2**20), (2.0, 2 * 2**20), (9.0, 2**20)])
def test_the_size_of_a_window_follows_the_time_of_the_last_one(seconds: float, expected: int) -> None:
    assert next_size(2 * 2**20, seconds) == expected
