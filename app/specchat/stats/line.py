"""The statistics of a turn in words. They read the trace's objects, so a replayed turn says the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specchat.stats.rules import rule_label


def statistics_line(stats: Mapping[str, Any], start: Mapping[str, Any]) -> str:
    """One line: the rule where it is not the default, speed, gain, acceptance, α, τ, where the time went, the seed.

    `start` is the trace's first line. What was not measured is left out, and so is a rule that judged nothing.
    """
    count = stats["num_tokens"]
    parts = [f"{count} token{'' if count == 1 else 's'}"]
    label = rule_label(start["verifier"], lossless=start["lossless"])
    if label and stats["num_draft_tokens"]:
        parts.append(label)
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
        shown = {name: share for name, share in shares.items() if name != "rollback" or share >= 0.005}
        parts.append(" ".join(f"{name} {share:.0%}" for name, share in shown.items()))
    parts.append(f"seed {start['seed']}")
    return " · ".join(parts)


def time_shares(stats: Mapping[str, Any]) -> dict[str, float]:
    """The shares of draft, verify, rollback and other in the time of decoding; they add up to 1, or are none.

    A trace from before roll-backs were timed has none of theirs.
    """
    times = {name: float(stats.get(f"{name}_ms", 0.0)) for name in ("draft", "verify", "rollback", "other")}
    total = sum(times.values())
    return {name: time / total for name, time in times.items()} if total > 0 else {}
