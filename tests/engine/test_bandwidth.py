"""How fast memory is read."""

from __future__ import annotations

import pytest

from specchat_engine.bandwidth import bandwidth_from_step, measure_bandwidth


def test_memory_is_read_at_a_plausible_speed() -> None:
    assert 1e8 < measure_bandwidth(1) < 1e13


def test_a_measured_step_tells_the_bandwidth() -> None:
    assert bandwidth_from_step(4_000_000_000, 100.0) == pytest.approx(40e9)
