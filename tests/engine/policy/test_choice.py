"""The best length of a draft is the one that an exhaustive comparison finds."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.analysis.theory import expected_tokens, predicted_speedup
from specchat_engine.policy.choice import Option, best_option

N = 12
shares = st.lists(st.floats(0, 1), min_size=N, max_size=N)
costs = st.lists(st.floats(0.01, 1), min_size=N + 2, max_size=N + 2).map(
    lambda steps: [0.0, *(1 + sum(steps[:width]) for width in range(N + 1))]
)


def compared(
    stands: Sequence[float], drafted: Sequence[float], verify_ms: Sequence[float], draft_ms: float, pace: float
) -> list[Option]:
    """Each length by itself, from the definition: the sum over how far the draft gets."""
    options = []
    for k in range(1, N + 1):
        tokens = 1 + sum(math.prod(stands[:i]) for i in range(1, k + 1))
        milliseconds = verify_ms[1] + sum(
            math.prod(drafted[:i]) * (verify_ms[i + 1] - verify_ms[i] + draft_ms) for i in range(1, k + 1)
        )
        options.append(Option(k, tokens, milliseconds))
    return options


@given(shares, shares, costs, st.floats(0, 1), st.floats(0.05, 3))
def test_no_other_length_is_worth_more(
    stands: list[float], drafted: list[float], verify_ms: list[float], draft_ms: float, pace: float
) -> None:
    best = best_option(stands, drafted, verify_ms, draft_ms, 0.0, pace, range(1, N + 1))
    options = compared(stands, drafted, verify_ms, draft_ms, pace)
    assert best.value(pace) == pytest.approx(max(option.value(pace) for option in options))
    assert best.tokens == pytest.approx(options[best.k - 1].tokens)
    assert best.milliseconds == pytest.approx(options[best.k - 1].milliseconds)


@given(st.floats(0, 0.99), costs, st.floats(0, 0.5))
def test_at_its_own_rate_the_best_length_has_the_highest_speed_up(
    alpha: float, verify_ms: list[float], draft_ms: float
) -> None:
    """The rule with ρ is the formula S = E / (C(k+1)/C(1) + k c), where ρ is what it reaches."""
    speedups = [predicted_speedup(alpha, k, draft_ms, verify_ms[k + 1]) for k in range(1, N + 1)]
    best = best_option([alpha] * N, [1.0] * N, verify_ms, draft_ms, 0.0, max(speedups), range(1, N + 1))
    assert best.rate == pytest.approx(max(speedups))
    assert best.tokens == pytest.approx(expected_tokens(alpha, best.k))


def test_a_fixed_length_is_kept() -> None:
    assert best_option([0.1] * N, [1.0] * N, [*range(N + 2)], 1.0, 0.0, 9.0, range(7, 8)).k == 7


def test_what_the_draft_has_to_read_first_counts() -> None:
    lengths = range(1, N + 1)
    cheap, dear = (best_option([0.8] * N, [1.0] * N, [*range(N + 2)], 0.1, ms, 1.0, lengths) for ms in (0.0, 5.0))
    assert dear.rate < cheap.rate


def test_no_lengths_are_an_error() -> None:
    with pytest.raises(ValueError, match="no lengths"):
        best_option([0.5], [1.0], [0, 1, 2], 0.1, 0.0, 1.0, range(1, 1))
