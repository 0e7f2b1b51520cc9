"""A set of candidates answers for every token, kept or not."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine.sampling.candidates import Candidates

THREE = Candidates(np.array([2, 5, 9]), np.log(np.array([0.25, 0.5, 0.25])))


@pytest.mark.parametrize(("token", "p"), [(2, 0.25), (5, 0.5), (9, 0.25), (0, 0), (3, 0), (10, 0)])
def test_a_token_that_did_not_survive_has_probability_zero(token: int, p: float) -> None:
    assert THREE.probability(token) == pytest.approx(p)


def test_the_best_come_first_and_ties_by_id() -> None:
    assert [token for token, _ in THREE.best(5)] == [5, 2, 9]
    assert [token for token, _ in THREE.best(2)] == [5, 2]


@pytest.mark.parametrize("power", [0.5, 1.0, 2.0, 700.0])
def test_a_power_makes_a_distribution_that_is_surer_of_the_same_tokens(power: float) -> None:
    sharper = THREE.sharpened(power)
    p = np.exp(sharper.log_p)
    assert p.sum() == pytest.approx(1)
    assert p[1] / p[0] == pytest.approx(2.0**power, rel=1e-6)
    assert sharper.ids is THREE.ids


def test_a_certain_token_has_all_the_mass() -> None:
    certain = Candidates.certain(4)
    assert (certain.probability(4), certain.probability(3)) == (1.0, 0.0)
    assert certain.best(5) == [(4, 1.0)]
