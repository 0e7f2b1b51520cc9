"""C(1) is told once enough passes near a depth were timed."""

from __future__ import annotations

from specchat_engine.costs import ENOUGH, PlainCost


def test_nothing_is_told_before_enough_passes() -> None:
    cost = PlainCost()
    for count in range(ENOUGH - 1):
        cost.observe(100, 1.0)
        assert (cost.at(100), cost.missing(100)) == (None, ENOUGH - 1 - count)
    cost.observe(100, 1.0)
    assert (cost.at(100), cost.missing(100)) == (1.0, 0)


def test_one_slow_pass_does_not_move_the_measure() -> None:
    cost = PlainCost()
    for _ in range(ENOUGH):
        cost.observe(100, 2.0)
    cost.observe(100, 500.0)
    assert cost.at(100) == 2.0


def test_passes_at_another_depth_do_not_count() -> None:
    cost = PlainCost()
    for _ in range(ENOUGH):
        cost.observe(100, 1.0)
        cost.observe(8000, 4.0)
    assert (cost.at(200), cost.at(7000), cost.at(3000)) == (1.0, 4.0, None)


def test_old_passes_are_forgotten() -> None:
    cost = PlainCost(keep=10)
    for milliseconds in [9.0] * 10 + [1.0] * 10:
        cost.observe(10, milliseconds)
    assert cost.at(10) == 1.0
