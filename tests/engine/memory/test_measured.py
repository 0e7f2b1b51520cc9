"""How fast memory is read."""

from __future__ import annotations

from specchat_engine.memory.measured import measure_bandwidth


def test_memory_is_read_at_a_plausible_speed() -> None:
    assert 1e8 < measure_bandwidth(1) < 1e13
