"""The power that a drafter draws with is learned from what its other powers would have proposed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.policy.sharpness import POWERS, Sharpness
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import gumbel

IDS = np.arange(12)


def law(scores: np.ndarray) -> Candidates:
    return Candidates(IDS, scores - np.log(np.exp(scores).sum()))


def agreement(surer: float, power: float, count: int = 600) -> float:
    """How often a drafter that draws with a power agrees with a target that is that much surer than the drafter."""
    chance = np.random.default_rng(3)
    agreed = 0
    for position in range(count):
        q, noise = law(chance.normal(0, 1.5, len(IDS))), gumbel(1, position, IDS)
        agreed += (surer * q.log_p + noise).argmax() == (q.sharpened(power).log_p + noise).argmax()
    return agreed / count


def learned(surer: float, used: float = 1.0, count: int = 600) -> Sharpness:
    """What is known after that many tokens of such a target, drafted with this power."""
    chance, sharpness = np.random.default_rng(3), Sharpness()
    for position in range(count):
        q, noise = law(chance.normal(0, 1.5, len(IDS))), gumbel(1, position, IDS)
        token = int((surer * q.log_p + noise).argmax())
        sharpness.observe(q.sharpened(used), noise, token, used)
    return sharpness


@pytest.mark.parametrize("surer", [1.4, 2.0, 3.0, 5.0])
def test_a_target_that_is_surer_is_met_with_that_power(surer: float) -> None:
    best = learned(surer).best
    assert best == surer
    assert agreement(surer, best) > agreement(surer, 1.0) + 0.03


@pytest.mark.parametrize("surer", [0.7, 1.0])
def test_a_drafter_that_is_too_sure_is_met_with_a_lower_power(surer: float) -> None:
    assert learned(surer).best == surer


@pytest.mark.parametrize("used", POWERS)
def test_it_learns_the_same_whatever_power_drew_the_draft(used: float) -> None:
    assert learned(2.0, used).to_json() == learned(2.0).to_json()


def test_a_few_tokens_change_nothing() -> None:
    assert learned(5.0, count=4).best == 1.0


def test_it_follows_a_text_that_changes() -> None:
    sharpness, chance = learned(5.0), np.random.default_rng(4)
    assert sharpness.best > 2
    for position in range(600):
        q, noise = law(chance.normal(0, 1.5, len(IDS))), gumbel(2, position, IDS)
        sharpness.observe(q, noise, int((q.log_p + noise).argmax()), 1.0)
    assert sharpness.best == 1.0


@given(st.integers(0, 400))
def test_what_is_known_survives_a_restart(count: int) -> None:
    before, after = learned(2.0, count=count), Sharpness()
    after.take(json.loads(json.dumps(before.to_json())))
    assert (after.best, after.known, after.to_json()) == (before.best, before.known, before.to_json())


@pytest.mark.parametrize("kept", [[], [1.0], [1.0] * 9, [-1.0] * 6, [float("nan")] * 6, ["a"] * 6, {}])
def test_a_record_that_is_none_is_rejected(kept: object) -> None:
    with pytest.raises((TypeError, ValueError)):
        Sharpness().take(kept)  # type: ignore[arg-type]
