"""How much smaller a draft is, and what that and α promise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from specchat_engine.analysis.theory import predicted_speedup
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.gguf import Header
from specchat_engine.pairing.verdict import Finding, Grade
from specchat_engine.settings import K_LIMIT

_DEAR: Final = 0.35
"""From this share of the target's cost on a draft seldom pays."""

_LONGEST = min(16, K_LIMIT)


def read_bytes(header: Header) -> int:
    """Bytes of weights that are read for one token: of mixtures only the experts in use, of the embedding a row."""
    used = max(header.per_layer("expert_used_count"), default=0)
    share = used / header.experts if header.experts else 1.0
    tied = not any(tensor.name == "output.weight" for tensor in header.tensors)
    total = 0.0
    for tensor in header.tensors:
        size = tensor.size or 0
        if "_exps." in tensor.name:
            total += size * share
        elif tied or not tensor.name.startswith("token_embd."):
            total += size
    return round(total)


def compare_sizes(target: Header, draft: Header) -> tuple[Finding, float | None]:
    """A line on the sizes, and what a draft step costs in target steps where only moving weights takes time."""
    one, two = read_bytes(target), read_bytes(draft)
    if not (one and two):
        return Finding(Grade.WARNING, "size", "a file tells no sizes: what a draft step costs is not known"), None
    cost = two / one
    words = f"{_short(draft.n_params)} draft for {_short(target.n_params)}: a draft step reads {100 * cost:.1f} %"
    line = Finding(Grade.OK, "size", words)
    if cost >= 1:
        line = Finding(Grade.WARNING, "size", f"{words}: drafting costs more than it saves", "use a smaller draft")
    elif cost > _DEAR:
        line = Finding(Grade.WARNING, "size", f"{words}, which seldom pays", "use a smaller draft or quantisation")
    return line, cost


def expect_speedup(
    cost: float | None, alpha: float | None, measured: MeasuredCosts | None
) -> tuple[Finding, float | None]:
    """A line on the expected speed-up at the best k, and the speed-up; measured costs come before sizes."""
    relative = _relative_costs(measured)
    if measured and measured.draft_step and relative:
        cost = measured.draft_step / dict(measured.verify)[1]
    if alpha is None or cost is None:
        return Finding(Grade.OK, "speed-up", "not known before it is tried", "time it: models pair --bench"), None
    best, k = best_speedup(alpha, cost, relative)
    basis = "with what passes cost here" if relative else "at most, where only moving weights takes time"
    words = f"{best:.2f}× at α {alpha:.2f} and k {k}, {basis}"
    if best < 1.05:
        return Finding(Grade.WARNING, "speed-up", words, "decode plainly or by lookup, or use a smaller draft"), best
    return Finding(Grade.OK, "speed-up", words), best


def best_speedup(alpha: float, cost: float, relative: Sequence[float] = ()) -> tuple[float, int]:
    """The largest predicted speed-up and its k. `relative` is C(k+1)/C(1) by k; without it wide passes cost no more."""
    longest = min(len(relative) - 1, _LONGEST) if relative else _LONGEST
    return max((predicted_speedup(alpha, k, cost, relative[k] if relative else 1.0), k) for k in range(1, longest + 1))


def _relative_costs(measured: MeasuredCosts | None) -> Sequence[float]:
    """C(k+1)/C(1) by k, between measured widths by straight lines; empty where not measured."""
    widths = dict(measured.verify) if measured else {}
    if 1 not in widths or len(widths) < 2:
        return []
    known = sorted(widths)
    costs = []
    for width in range(1, known[-1] + 1):
        low = max(one for one in known if one <= width)
        high = min(one for one in known if one >= width)
        part = (width - low) / (high - low) if high > low else 0.0
        costs.append((widths[low] + part * (widths[high] - widths[low])) / widths[1])
    return costs


def _short(number: int) -> str:
    for unit, size in (("B", 10**9), ("M", 10**6)):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return str(number)
