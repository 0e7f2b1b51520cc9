"""The coupled rule: a drafted token stands exactly when the target draws it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine import SamplingParams, TokenKind
from specchat_engine.decoding.verification import Rows, SharedChance
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.verifiers.coupled import coupled

WHOLE = SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0)


@dataclass
class Scripted:
    """A target whose draws are known."""

    own: list[int]

    def accepts(self, index: int, probability: float) -> bool:
        raise AssertionError("the coupled rule tests nothing by chance")

    def draw(self, index: int, row: Candidates) -> int:
        return self.own[index]


def scripted(own: list[int]) -> tuple[Rows, Scripted, list[int]]:
    """A target that draws these tokens, and the list of the rows that were looked at."""
    asked: list[int] = []

    def rows(place: int) -> Candidates:
        asked.append(place)
        return Candidates(np.arange(10), np.full(10, -np.log(10)))

    return rows, Scripted(own), asked


def test_a_rejected_token_ends_the_round_with_the_targets_correction() -> None:
    rows, chance, asked = scripted([1, 2, 9, 4])
    verdict = coupled([1, 2, 3], rows, (), chance)
    assert (verdict.accepted, verdict.token, verdict.kind, verdict.compared) == (2, 9, TokenKind.CORRECTION, 3)
    assert asked == [0, 1, 2], "rows behind the rejection cost nothing"


def test_a_full_accept_earns_a_bonus_token() -> None:
    rows, chance, _ = scripted([1, 2, 3, 4])
    verdict = coupled([1, 2, 3], rows, (), chance)
    assert (verdict.accepted, verdict.token, verdict.kind) == (3, 4, TokenKind.BONUS)
    assert [row.probability(1) for row in verdict.judged] == pytest.approx([0.1, 0.1, 0.1])


def test_without_a_draft_the_token_is_plain() -> None:
    rows, chance, _ = scripted([7])
    verdict = coupled([], rows, (), chance)
    assert (verdict.accepted, verdict.token, verdict.kind, verdict.judged) == (0, 7, TokenKind.PLAIN, ())


@given(st.lists(st.integers(0, 9), max_size=8), st.lists(st.integers(0, 9), min_size=9, max_size=9))
def test_whatever_is_drafted_the_emitted_tokens_are_the_targets_own(drafted: list[int], own: list[int]) -> None:
    rows, chance, _ = scripted(own)
    verdict = coupled(drafted, rows, (), chance)
    emitted = [*drafted[: verdict.accepted], verdict.token]
    assert emitted == own[: len(emitted)]


@pytest.mark.parametrize("spread", [0.5, 1.0, 2.0])
def test_the_acceptance_probability_is_the_papers_closed_form(spread: float) -> None:
    random = np.random.default_rng(int(spread * 10))
    for _ in range(3):
        target = (random.standard_normal(12) * 2).astype(np.float32)
        draft = (target + random.standard_normal(12) * spread).astype(np.float32)
        sampler = Sampler(WHOLE, seed=int(random.integers(2**32)))
        of_target, of_draft = sampler.candidates(target, ()), sampler.candidates(draft, ())
        p, q = np.exp(of_target.log_p), np.exp(of_draft.log_p)
        expected = sum(1 / np.maximum(p / p[x], q / q[x]).sum() for x in range(12))
        draws = 8000
        accepted = 0
        for position in range(draws):
            drafted = [sampler.draw(of_draft, position)]
            accepted += coupled(drafted, lambda _: of_target, (), SharedChance(sampler, position)).accepted  # noqa: B023
        distance = np.abs(p - q).sum() / 2
        assert accepted / draws == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / draws))
        assert expected >= (1 - distance) / (1 + distance) - 1e-12
