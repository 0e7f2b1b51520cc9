"""Finds the known pairs that fit a machine, with their expected speed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from specchat_assets.catalog import Catalog, Pair

_BUFFERS: Final = 600_000_000
_CACHE: Final = 0.08
"""Memory for the caches of about 8,000 tokens and for buffers: `_BUFFERS` bytes plus `_CACHE` times the weights."""

_GOOD: Final = ("Q4_K_M", "MXFP4", "Q8_0")
_FAST_ENOUGH: Final = 3.0
"""Pairs with fewer tokens per second are not recommended."""


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A pair, its quantisations, its bytes on disk and in memory, and the expected tokens per second.

    `tokens_per_second` is None if no α is known. All values are estimated from parameters and memory bandwidth.
    """

    pair: Pair
    quantisation: str
    quantisation_draft: str
    size: int
    memory: int
    plain_tokens_per_second: float
    tokens_per_second: float | None
    speedup: float | None


def fits(
    catalog: Catalog, memory: int, bandwidth: float, speedup: Callable[[float, float], float]
) -> list[Recommendation]:
    """The pairs that fit into `memory` bytes and are fast enough for a chat, largest target first.

    `bandwidth` is the memory bandwidth in bytes per second. `speedup` computes the speed-up from α and the draft cost.
    """
    found = []
    for pair in catalog.pairs:
        target, draft = pair.target, pair.draft
        if not (target.runs and draft.runs and target.repository and draft.repository):
            continue
        for name in (one for one in _GOOD if one in target.quantisations):
            drafts = [one for one in ("Q8_0", *_GOOD) if one in draft.quantisations]
            size, little = catalog.size(target, name), catalog.size(draft, drafts[0])
            needed = round((size + little) * (1 + _CACHE)) + _BUFFERS
            step = target.active * catalog.bits[name] / 8 * 1e9
            plain = bandwidth / step
            if needed > memory or plain < _FAST_ENOUGH:
                continue
            cost = draft.active * catalog.bits[drafts[0]] / 8 * 1e9 / step
            gain = speedup(pair.alpha, cost) if pair.alpha is not None else None
            expected = plain * gain if gain else None
            found.append(Recommendation(pair, name, drafts[0], size + little, needed, plain, expected, gain))
            break
    return sorted(found, key=lambda one: (-one.pair.target.parameters, one.pair.draft.parameters))
