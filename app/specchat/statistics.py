"""The statistics of a turn in words. They read the trace's `stats` object, so a replayed turn says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def statistics_line(stats: Mapping[str, Any], seed: int) -> str:
    """One line: speed, gain, acceptance, α, τ, where the time went, the seed. What was not measured is left out."""
    parts = [f"{stats['num_tokens']} tokens"]
    if (speed := stats["tokens_per_second"]) is not None:
        parts.append(f"{speed:.0f} tok/s" if speed >= 100 else f"{speed:.1f} tok/s")
    if (speedup := stats["speedup"]) is not None:
        parts.append(f"{speedup:.2f} × plain")
    if (rate := stats["acceptance_rate"]) is not None:
        parts.append(f"accepted {rate:.0%}")
    if (alpha := stats["alpha"]) is not None:
        parts.append(f"α {alpha:.2f}")
    if (efficiency := stats["block_efficiency"]) is not None:
        parts.append(f"τ {efficiency:.1f}")
    if shares := time_shares(stats):
        parts.append(" ".join(f"{name} {share:.0%}" for name, share in shares.items()))
    parts.append(f"seed {seed}")
    return " · ".join(parts)


def time_shares(stats: Mapping[str, Any]) -> dict[str, float]:
    """The shares of draft, verify and other in the time of decoding; they add up to 1, or are none."""
    times = {name: float(stats[f"{name}_ms"]) for name in ("draft", "verify", "other")}
    total = sum(times.values())
    return {name: time / total for name, time in times.items()} if total > 0 else {}
