"""What drafts may lose is paid from a budget, and what they gain fills it."""

from __future__ import annotations

import pytest

from specchat_engine.policy.loss_budget import LossBudget


def test_each_kind_of_text_has_its_own_budget() -> None:
    budget = LossBudget(24.0)
    budget.credit("prose", -0.5)
    assert (budget.left("prose"), budget.left("code")) == (0.5, 1.0)


def test_a_hundred_rounds_without_a_draft_allow_to_lose_one_and_a_half_plain_rounds_more() -> None:
    budget = LossBudget(24.0)
    budget.credit("prose", -1.0)
    for _ in range(100):
        budget.add_round("prose")
    assert budget.left("prose") == pytest.approx(1.5)


def test_gains_are_kept_up_to_a_limit_and_losses_down_to_another() -> None:
    budget = LossBudget(24.0)
    budget.credit("prose", 100.0)
    budget.credit("code", -100.0)
    assert (budget.left("prose"), budget.left("code")) == (24.0, -5.0)


def test_budgets_survive_a_restart() -> None:
    budget = LossBudget(24.0)
    budget.credit("prose", -0.75)
    restored = LossBudget(24.0)
    restored.take(budget.to_json())
    assert restored.left("prose") == pytest.approx(0.25)
