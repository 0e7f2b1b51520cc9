"""The settings that a benchmark speaks for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from specchat.bench.plan import PLAIN
from specchat.bench.summary import Overall


@dataclass(frozen=True, slots=True)
class Choice:
    """The best arm over all kinds and temperatures, and the best of those with a fixed k (plain where none gains)."""

    best: Overall
    fixed: Overall

    def to_json(self) -> dict[str, Any]:
        """The choice as it stands in the document."""
        return {"best": self.best.to_json(), "best_fixed": self.fixed.to_json()}


def choose(means: Sequence[Overall]) -> Choice | None:
    """The arms with the largest geometric means; None where nothing was compared."""
    if len(means) < 2:
        return None
    best = best_of(means)
    fixed = best_of(mean for mean in means if mean.arm == PLAIN or mean.arm.is_fixed)
    return Choice(best, fixed) if best and fixed else None


def best_of(means: Iterable[Overall]) -> Overall | None:
    """The largest geometric mean, the first of equal ones; None where there are none."""
    return max(means, key=lambda mean: mean.ratio.value, default=None)


def in_words(choice: Choice) -> str:
    """The settings that it would choose, in one sentence."""
    best, fixed = choice.best, choice.fixed
    if best.arm == PLAIN:
        return "Decode plainly (--drafter none): nothing that was measured is faster here."
    pairs = f"{best.ratio.pairs} pair{'' if best.ratio.pairs == 1 else 's'} of answers"
    parts = [f"Use --drafter {best.arm.drafter} -k {best.arm.k}: {gain(best)} over all kinds, from {pairs}"]
    if best.ratio.interval is None or best.ratio.interval[0] <= 1:
        parts.append("that may be chance, so measure more with --repeats")
    if fixed.arm == PLAIN:
        parts.append("no fixed k gains")
    elif best.arm != fixed.arm:
        parts.append(f"the best fixed k is --drafter {fixed.arm.drafter} -k {fixed.arm.k} with {gain(fixed)}")
    return f"{'; '.join(parts)}."


def gain(mean: Overall) -> str:
    """An arm's mean ratio and its interval: `1.32 × plain (95 % 1.21 to 1.40)`."""
    ratio = mean.ratio
    interval = f" (95 % {ratio.interval[0]:.2f} to {ratio.interval[1]:.2f})" if ratio.interval else ""
    return f"{ratio.value:.2f} × plain{interval}"
