"""Which draft model makes room when memory is short: one that takes main memory and gains nothing for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

_SHORT = 0.05
"""Memory is short if less than this share of it is free. The system then drops pages of the mapped weights, which each
pass reads from the disk again, and soon it swaps or ends programs. While more is free, a draft model that may still pay
on another kind of text costs nobody anything."""


_TRIED, _LOST, _FADE = 8.0, 5.0, 0.98
"""A drafter was tried enough once its rounds emitted 8 tokens, and lost 5 plain rounds. Older rounds count less. In a
simulation of 60 rounds, one in forty drafters that gain 1.25 ever loses so much by chance, and nearly all that gain 0.8
do."""

_USUALLY_ACCEPTED = 0.5
"""A draft model of which at least this share is accepted stays: where it loses, other programs are the likely reason,
and those are often also why memory is short."""


class Gains:
    """How many plain rounds each drafter's rounds took, and how many tokens they emitted, by kind of text."""

    def __init__(self) -> None:
        self._sums: dict[tuple[str, str], tuple[float, float]] = {}

    def observe(self, kind: str, drafter: str, plain_rounds: float, emitted: int) -> None:
        """Learns what a round with a draft took and brought."""
        time, tokens = self._sums.get((kind, drafter), (0.0, 0.0))
        self._sums[kind, drafter] = _FADE * time + plain_rounds, _FADE * tokens + emitted

    def lost(self, drafter: str) -> float:
        """Returns how many plain rounds a drafter lost that was tried enough and gained on no kind of text; else 0."""
        sums = [seen for (_, name), seen in self._sums.items() if name == drafter]
        emitted = sum(tokens for _, tokens in sums)
        lost = sum(time for time, _ in sums) - emitted
        gained = any(tokens > time for time, tokens in sums)
        return lost if emitted >= _TRIED and lost >= _LOST and not gained else 0.0

    def to_json(self) -> dict[str, dict[str, list[float]]]:
        """Returns what to keep for the next start."""
        kept: dict[str, dict[str, list[float]]] = {}
        for (kind, drafter), (time, tokens) in self._sums.items():
            kept.setdefault(kind, {})[drafter] = [round(time, 3), round(tokens, 3)]
        return kept

    def take(self, kept: Mapping[str, Any]) -> None:
        """Reads what `to_json` wrote. Raises TypeError, ValueError or AttributeError for anything else."""
        self._sums = {}
        for kind, drafters in kept.items():
            for drafter, (time, tokens) in drafters.items():
                if not (0 <= float(time) < inf and 0 <= float(tokens) < inf):
                    raise ValueError("these are no rounds and tokens")
                self._sums[str(kind), str(drafter)] = float(time), float(tokens)


def draft_to_unload(
    free: int,
    total: int,
    sizes: Mapping[str, int],
    gains: Gains,
    accepted: Callable[[str], float],
    asked: str = "",
) -> str | None:
    """The drafter whose draft model should be unloaded now; None if all should stay.

    `free` and `total` are bytes of main memory; a total of 0 is not known. `sizes` has the bytes of it that each draft
    model takes, and `accepted` tells the share of its tokens that were accepted. While memory is short the one goes
    that has lost most, of those that were tried enough and gained on no kind of text; of equals the largest. One that
    is usually accepted or takes no main memory stays, and so does `asked`, the drafter that the settings name.
    """
    if free >= _SHORT * total:
        return None
    losses = {
        name: gains.lost(name)
        for name, size in sizes.items()
        if size and name != asked and accepted(name) < _USUALLY_ACCEPTED
    }
    worst = max(losses, key=lambda name: (losses[name], sizes[name]), default=None)
    return worst if worst and losses[worst] > 0 else None
