"""A drafter that is accepted clearly less often than it used to be is reported once, with a remedy."""

from __future__ import annotations

import random

import pytest

from specchat_engine.policy.drift import Drift
from support.conversations import ask, conversation, letters


def follow(drift: Drift, alpha: float, rounds: int, *, kind: str = "prose", seed: int = 1) -> None:
    """Rounds in which each of up to four tokens is accepted with this probability."""
    dice = random.Random(seed)
    for _ in range(rounds):
        accepted = next((place for place in range(4) if dice.random() >= alpha), 4)
        drift.observe(kind, "model", accepted, min(accepted + 1, 4))


@pytest.mark.parametrize("alpha", [0.3, 0.6, 0.9, 0.99])
def test_a_drafter_that_stays_as_it_is_is_never_reported(alpha: float) -> None:
    for seed in range(30):
        drift = Drift()
        for part in range(20):
            follow(drift, alpha, 40, seed=100 * seed + part)
            assert drift.drops() == []


def test_a_large_drop_is_reported_once_and_only_for_its_kind_of_text() -> None:
    drift = Drift()
    follow(drift, 0.85, 400)
    follow(drift, 0.85, 400, kind="code")
    follow(drift, 0.4, 60)
    follow(drift, 0.85, 60, kind="code")
    (drop,) = drift.drops()
    assert (drop.kind, drop.drafter) == ("prose", "model")
    assert drop.usual > 0.75
    assert drop.recent < 0.55
    assert f"usually {drop.usual:.2f}" in str(drop)
    assert "choose another" in str(drop)
    follow(drift, 0.4, 60)
    assert drift.drops() == []


def test_a_few_bad_rounds_are_no_drift() -> None:
    drift = Drift()
    follow(drift, 0.85, 400)
    follow(drift, 0.0, 4)
    assert drift.drops() == []


def test_how_it_usually_is_is_kept_for_the_next_start() -> None:
    before, after = Drift(), Drift()
    follow(before, 0.85, 400)
    after.take(before.to_json())
    follow(after, 0.3, 80)
    assert len(after.drops()) == 1
    for broken in ({"prose": {"model": [3.0, 2.0]}}, {"prose": {"model": [1.0]}}):
        with pytest.raises(ValueError, match=r".+"):
            after.take(broken)


def test_a_turn_says_so_once() -> None:
    session = conversation(letters(3), letters(4))
    follow(session.pair.controller.drift, 0.85, 400)
    follow(session.pair.controller.drift, 0.3, 80)
    ask(session)
    assert any("accepted less often than they used to be" in notice for notice in session.notices)
    ask(session)
    assert not session.notices
