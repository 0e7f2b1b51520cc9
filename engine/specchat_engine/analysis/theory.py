"""The formulas of speculative decoding that the app shows.

Source: Leviathan, Kalman, Matias, arXiv 2211.17192, sections 3.1 and 3.2. α is the acceptance probability of a compared
token, k the draft length, c the cost of one draft step in units of a plain target step, C(w) the cost of a target pass
over w tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from operator import mul


def expected_tokens(alpha: float, k: int) -> float:
    """E(α, k) = (1 − α^(k+1)) / (1 − α): tokens a round emits at constant α, the target's own included."""
    if alpha >= 1:
        return k + 1.0
    return float((1 - alpha ** (k + 1)) / (1 - alpha))


def expected_tokens_by_position(shares: Sequence[float]) -> float:
    """1 + Σ_{i≤k} Π_{j≤i} a_j: tokens a round emits if the token at position j, once reached, is accepted with a_j.

    The sum from which E(α, k) follows for equal a_j: Leviathan et al., arXiv 2211.17192, section 3.1.
    """
    return 1.0 + float(sum(accumulate(shares, mul)))


def predicted_speedup(alpha: float, k: int, c: float, relative_cost: float) -> float:
    """S = E(α, k) / (C(k+1)/C(1) + k·c), with `relative_cost` = C(k+1)/C(1)."""
    return expected_tokens(alpha, k) / (relative_cost + k * c)


def memory_bound_speedup(tau: float, k: float, c: float) -> float:
    """MBSU = τ / (c·k + 1): the speed-up with `tau` tokens and k draft steps a round if only moving weights takes time.

    `c` is the draft's share of the target's weights. Source: Goel et al., arXiv 2403.00858.
    """
    return tau / (c * k + 1)


def break_even_alpha(k: int, c: float, relative_cost: float) -> float | None:
    """The α at which speculation costs as much as plain decoding; None if no α up to 1 reaches it."""
    if k == 0 or predicted_speedup(1.0, k, c, relative_cost) < 1:
        return None
    return root(lambda alpha: predicted_speedup(alpha, k, c, relative_cost) - 1)


def root(function: Callable[[float], float]) -> float:
    """The root in [0, 1] of an increasing function, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return high
