"""Rejection and block verification emit the target's law exactly: every outcome is enumerated, nothing is sampled."""

from __future__ import annotations

import itertools

import pytest

from specchat_engine.decoding.verification import Verifier
from specchat_engine.verifiers import BLOCK, REJECTION
from support.exact import Proposer, Rowed, Stop, error_of_law, random_rows

CLOSE = 1e-12
LOSSLESS = pytest.mark.parametrize("verifier", [REJECTION, BLOCK], ids=lambda verifier: verifier.name)
SIZES = [(n_vocab, k) for n_vocab in (2, 3, 4, 5) for k in (0, 1, 2, 3)]
SEEDS = {2: 40, 3: 20, 4: 10, 5: 4}
STOPS: dict[str, Stop] = {
    "never": lambda *_: False,
    "behind a token": lambda tokens, _: bool(tokens) and tokens[-1] == 1,
    "where q is unsure": lambda _, row: row.best(1)[0][1] < 0.5,
    "by all that was drafted": lambda tokens, _: sum(tokens) % 2 == 1,
}


def laws(seed: int, n_vocab: int) -> tuple[Rowed, Rowed]:
    return random_rows(2 * seed, n_vocab), random_rows(2 * seed + 1, n_vocab)


@LOSSLESS
@pytest.mark.parametrize("point", [False, True], ids=["drawn", "point"])
@pytest.mark.parametrize("stops", STOPS.values(), ids=STOPS)
def test_one_round_of_any_draft_emits_the_targets_joint_law(verifier: Verifier, point: bool, stops: Stop) -> None:
    for n_vocab, k in SIZES:
        for seed in range(SEEDS[n_vocab]):
            target, q = laws(seed, n_vocab)
            proposer = Proposer(q, k, point=point, stops=stops)
            assert error_of_law(verifier.decide, target, proposer, k + 1) < CLOSE, (n_vocab, k, seed)


@LOSSLESS
def test_a_second_round_takes_up_where_the_first_ended(verifier: Verifier) -> None:
    for seed, k in itertools.product(range(6), (1, 2)):
        target, q = laws(seed, 2)
        assert error_of_law(verifier.decide, target, Proposer(q, k), 4, rounds=2) < CLOSE


@LOSSLESS
def test_a_draft_of_the_targets_own_law_is_always_accepted_whole(verifier: Verifier) -> None:
    target = random_rows(5, 4)

    class Never:
        def accepts(self, index: int, probability: float) -> bool:
            assert probability == pytest.approx(1)
            return True

        def draw(self, index: int, row: object) -> int:
            return 0

    drafted = tuple(target(()).best(1)[0][0] for _ in range(1))
    verdict = verifier.decide(drafted, lambda place: target(drafted[:place]), [target(())], Never())
    assert verdict.accepted == 1
