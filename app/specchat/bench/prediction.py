"""What the theory says of a draft model with a fixed k, from what was measured."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from specchat.bench.plan import Arm
from specchat.bench.samples import Sample
from specchat_engine.analysis.theory import break_even_alpha, expected_tokens, predicted_speedup


@dataclass(frozen=True, slots=True)
class Prediction:
    """c and C(k+1)/C(1) as measured, E(α, k), the speed-up that follows, and the α below which there is none.

    `break_even` is None where no α would pay.
    """

    draft_cost: float
    relative_cost: float
    expected_tokens: float
    speedup: float
    break_even: float | None

    def to_json(self) -> dict[str, Any]:
        """The prediction as it stands in the document."""
        return asdict(self)


def predict(arm: Arm, taken: Iterable[Sample], plain: Iterable[Sample]) -> Prediction | None:
    """The speed-up of decoding that the arm's α and costs allow; `plain` are the plain answers to the same prompts.

    None for other arms, whose rounds do not all draft k tokens, and where something was never measured.
    """
    if arm.drafter != "model" or not isinstance(arm.k, int):
        return None
    taken, plain = [*taken], [*plain]
    drafted = sum(sample.num_draft_tokens for sample in taken)
    tested = sum(sample.num_accepted_tokens + sample.num_rejected_tokens for sample in taken)
    full_rounds = sum(sample.full_rounds for sample in taken)
    plain_rounds = sum(sample.num_rounds for sample in plain)
    if not (tested and full_rounds and plain_rounds):
        return None
    plain_ms = sum(sample.verify_ms for sample in plain) / plain_rounds
    if plain_ms <= 0:
        return None
    alpha = sum(sample.num_accepted_tokens for sample in taken) / tested
    c = sum(sample.draft_ms for sample in taken) / drafted / plain_ms
    relative_cost = sum(sample.full_verify_ms for sample in taken) / full_rounds / plain_ms
    return Prediction(
        draft_cost=c,
        relative_cost=relative_cost,
        expected_tokens=expected_tokens(alpha, arm.k),
        speedup=predicted_speedup(alpha, arm.k, c, relative_cost),
        break_even=break_even_alpha(arm.k, c, relative_cost),
    )
