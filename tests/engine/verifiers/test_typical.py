"""Typical acceptance takes what the target finds likely enough, and says that it is lossy."""

from __future__ import annotations

import math

import pytest

from specchat_engine import TokenKind
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.verifiers import TYPICAL, VERIFIERS
from specchat_engine.verifiers.typical import typical
from support.exact import Proposer, error_of_law, of_weights, random_rows


class Last:
    """Draws the row's last token."""

    def accepts(self, index: int, probability: float) -> bool:
        raise AssertionError("typical acceptance is a threshold, not a chance")

    def draw(self, index: int, row: Candidates) -> int:
        return int(row.ids[-1])


@pytest.mark.parametrize(("weights", "stands"), [([90, 5, 5], True), ([1, 1, 1], True), ([8, 42, 50], False)])
def test_a_token_stands_where_its_probability_exceeds_the_entropy_threshold(weights: list[float], stands: bool) -> None:
    row = of_weights(weights)
    entropy = -sum(w / sum(weights) * math.log(w / sum(weights)) for w in weights)
    assert stands == (weights[0] / sum(weights) > min(0.09, 0.3 * math.exp(-entropy)))
    assert (typical([0], lambda _: row, (), Last()).accepted == 1) == stands


def test_what_does_not_stand_is_replaced_by_the_targets_own_token() -> None:
    verdict = typical([0, 1], lambda _: of_weights([8, 42, 50]), (), Last())
    assert (verdict.accepted, verdict.token, verdict.kind, verdict.compared) == (0, 2, TokenKind.CORRECTION, 1)


def test_at_temperature_0_only_the_best_token_stands() -> None:
    best = Candidates.certain(3)
    assert typical([3, 3], lambda _: best, (), Last()).accepted == 2
    assert typical([3, 2], lambda _: best, (), Last()).accepted == 1


def test_it_changes_the_law_and_is_the_only_rule_that_says_so() -> None:
    target, q = random_rows(4, 4), random_rows(5, 4)
    assert error_of_law(typical, target, Proposer(q, 2), 2) > 0.05
    assert [name for name, verifier in VERIFIERS.items() if not verifier.lossless] == [TYPICAL.name]
