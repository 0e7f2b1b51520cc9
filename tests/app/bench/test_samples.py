from __future__ import annotations

import pytest

from specchat.bench.plan import PLAIN, Arm
from specchat.bench.samples import predict
from specchat_engine.analysis.theory import break_even_alpha, predicted_speedup
from support.bench_samples import LOOKUP, MODEL, sample

PLAIN_ANSWER = sample(num_rounds=50, verify_ms=500.0)
DRAFTED = sample(
    MODEL,
    num_draft_tokens=80,
    draft_ms=160.0,
    num_accepted_tokens=45,
    num_rejected_tokens=15,
    full_rounds=10,
    full_verify_ms=250.0,
    verify_ms=9999.0,
)


def test_the_prediction_follows_from_the_costs_and_alpha_that_were_measured() -> None:
    found = predict(MODEL, [DRAFTED], [PLAIN_ANSWER])
    assert found is not None
    assert found.draft_cost == pytest.approx(0.2)
    assert found.relative_cost == pytest.approx(2.5)
    assert found.expected_tokens == pytest.approx((1 - 0.75**5) / 0.25)
    assert found.speedup == pytest.approx(predicted_speedup(0.75, 4, 0.2, 2.5))
    assert found.break_even == pytest.approx(break_even_alpha(4, 0.2, 2.5))
    assert predict(MODEL, [DRAFTED] * 2, [PLAIN_ANSWER] * 2) == found, "all answers are weighed together"


@pytest.mark.parametrize("arm", [PLAIN, LOOKUP, Arm("hybrid", "auto"), Arm("model", "auto")])
def test_only_a_draft_model_with_a_fixed_k_is_predicted(arm: Arm) -> None:
    assert predict(arm, [DRAFTED], [PLAIN_ANSWER]) is None


@pytest.mark.parametrize(
    "taken", [[], [sample(MODEL, full_rounds=0)], [sample(MODEL, num_accepted_tokens=0, num_rejected_tokens=0)]]
)
def test_what_was_never_measured_predicts_nothing(taken: list[object]) -> None:
    assert predict(MODEL, taken, [PLAIN_ANSWER]) is None  # type: ignore[arg-type]
    assert predict(MODEL, [DRAFTED], []) is None
