"""How much the verifiers accept, by exact laws: block at least what rejection accepts, both their closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine.decoding.verification import Verifier
from specchat_engine.verifiers import BLOCK, REJECTION
from support.exact import Branch, Proposer, Rowed, branches, random_rows


def accepted(verifier: Verifier, target: Rowed, proposer: Proposer) -> float:
    """The expected number of accepted tokens of a round."""

    def run(chance: Branch) -> int:
        drafted, rows = proposer.draft((), chance)
        return verifier.decide(drafted, lambda place: target(drafted[:place]), rows, chance).accepted

    return sum(count * probability for count, probability in branches(run))


def test_one_token_is_accepted_with_one_minus_the_total_variation_distance() -> None:
    for seed in range(40):
        target, q = random_rows(2 * seed, 4), random_rows(2 * seed + 1, 4)
        p = np.array([target(()).probability(token) for token in range(4)])
        other = np.array([q(()).probability(token) for token in range(4)])
        for verifier in (REJECTION, BLOCK):
            assert accepted(verifier, target, Proposer(q, 1)) == pytest.approx(1 - np.abs(p - other).sum() / 2)


def test_block_verification_accepts_at_least_as_much_and_sometimes_more() -> None:
    gains = []
    for seed in range(40):
        target, q = random_rows(2 * seed, 3), random_rows(2 * seed + 1, 3)
        proposer = Proposer(q, 3)
        gains.append(accepted(BLOCK, target, proposer) - accepted(REJECTION, target, proposer))
    assert min(gains) > -1e-12
    assert max(gains) > 0.02
