"""Drafts that promise no gain are paid from a budget."""

from __future__ import annotations

import pytest

from specchat_engine.policy.exploration import ExplorationBudget


def test_each_kind_of_text_has_its_own_budget() -> None:
    budget = ExplorationBudget()
    budget.credit("prose", -3.0)
    assert (budget.left("prose"), budget.left("code")) == (2.0, 5.0)
    budget.begin_answer("prose")
    assert budget.left("prose") == 3.0


def test_neither_gains_nor_losses_pile_up() -> None:
    budget = ExplorationBudget()
    budget.credit("prose", 100.0)
    budget.credit("code", -100.0)
    assert (budget.left("prose"), budget.left("code")) == (5.0, -5.0)


def test_budgets_survive_a_restart() -> None:
    budget = ExplorationBudget()
    budget.credit("prose", -1.25)
    assert ExplorationBudget.from_json(budget.to_json()).left("prose") == pytest.approx(3.75)
