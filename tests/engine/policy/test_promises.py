"""A drafter that keeps less than it promises counts less."""

from __future__ import annotations

import pytest

from specchat_engine.policy.promises import Promises


def test_an_unknown_drafter_is_believed() -> None:
    assert Promises().kept("prose", "model") == 1


@pytest.mark.parametrize("share", [0.4, 0.9, 1.4])
def test_the_share_that_came_true_is_learned_by_kind_and_drafter(share: float) -> None:
    promises = Promises()
    for _ in range(300):
        promises.observe("prose", "model", 10 / share, 10)
    assert promises.kept("prose", "model") == pytest.approx(min(share, 1.0), abs=0.02)
    assert promises.kept("code", "model") == promises.kept("prose", "eagle3") == 1


def test_later_rounds_count_more() -> None:
    promises = Promises()
    for emitted in (2, 8):
        for _ in range(200):
            promises.observe("prose", "model", 8, emitted)
    assert promises.kept("prose", "model") > 0.95
