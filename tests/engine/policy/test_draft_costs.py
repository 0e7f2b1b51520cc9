"""What drafts take is told by pass, whatever their lengths were and whatever had to be read before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from specchat_engine.policy import draft_costs
from specchat_engine.policy.costs import FIRST, FURTHER, PassCosts
from specchat_engine.policy.situation import Outcome, Situation

NOW = Situation(depth=100, unread=1, match=0, longest=16, model=True, lookup=False)
DRAFT, BETWEEN = 0.05, 0.1


def learned(*drafts: tuple[Situation, int, float, float, float]) -> PassCosts:
    """Of drafts by situation, passes, milliseconds, those of the first pass, and of what else the round took."""
    costs = PassCosts(slope=0.15)
    for _ in range(40):
        for now, steps, draft_ms, first_ms, other_ms in drafts:
            outcome = Outcome(steps, 0, 1, 1, [], [], 1.0, draft_ms, other_ms, first_ms=first_ms)
            draft_costs.learn(costs, now, steps, outcome, BETWEEN)
    return costs


def test_what_the_drafter_does_beside_its_passes_belongs_to_each_of_them() -> None:
    costs = learned((NOW, 4, 4 * DRAFT, DRAFT, BETWEEN + 0.04))
    assert draft_costs.expected_ms(costs, NOW.depth, 1.0) == pytest.approx((DRAFT + 0.01, DRAFT + 0.01), rel=0.05)


def test_a_round_quicker_than_plain_ones_beside_its_passes_takes_nothing_off_the_draft() -> None:
    costs = learned((NOW, 4, 4 * DRAFT, DRAFT, 0.0))
    assert costs.at(FURTHER, NOW.depth) == pytest.approx(DRAFT)


@pytest.mark.parametrize("timed", [True, False], ids=["by itself", "with all others"])
def test_a_longer_reading_is_no_part_of_a_step_however_the_first_pass_is_timed(timed: bool) -> None:
    reading = replace(NOW, unread=40)
    costs = learned((NOW, 4, 4 * DRAFT, DRAFT * timed, BETWEEN), (reading, 4, 3 * DRAFT + 0.9, 0.9 * timed, BETWEEN))
    assert costs.at(FURTHER, NOW.depth) == pytest.approx(DRAFT)
    assert draft_costs.reading_ms(costs, reading, DRAFT) == pytest.approx(0.9 - DRAFT, rel=0.1)
    assert draft_costs.reading_ms(costs, NOW, DRAFT) == 0


@pytest.mark.parametrize("timed", [True, False], ids=["by itself", "with all others"])
def test_what_a_few_more_tokens_cost_to_read_is_not_told_by_noise(timed: bool) -> None:
    a_few = replace(NOW, unread=5)
    costs = learned((NOW, 4, 4 * DRAFT, DRAFT * timed, BETWEEN), (a_few, 4, 4 * DRAFT, DRAFT * timed, BETWEEN))
    assert not costs.seen(5)
    assert costs.at(FURTHER, NOW.depth) == pytest.approx(DRAFT)


def test_the_first_drafts_count_together_with_what_is_usual() -> None:
    costs = PassCosts(slope=0.15)
    assert draft_costs.expected_ms(costs, NOW.depth, 2.0) == pytest.approx((0.2, 0.2))
    costs.observe(FIRST, NOW.depth, 2.0)
    first_ms, step_ms = draft_costs.expected_ms(costs, NOW.depth, 2.0)
    assert step_ms == pytest.approx(0.2)
    assert 0.2 < first_ms < 1.0
