"""The line of figures under an answer: how it ended, which verifier judged it, how fast it was and what drafts gained.

Every line of figures in the app, on the command line and in exports is written here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from specchat.settings.options import DEFAULT_VERIFIER
from specchat.settings.schema import LONGEST_ANSWER
from specchat.store.records import State
from specchat.terminal.blocks import per_cent, percents
from specchat_engine.decoding.rounds import PromptProgress
from specchat_engine.settings import LOSSY_VERIFIERS, SAME

LOSSY_SIGN = "≈"
"""Marks a lossy verifier, so that colour is never the only sign."""

STOPPED = "stopped"

UNKNOWN = "×? plain"
"""A speed-up that is not known, because no plain pass was timed while the machine was as busy as during the answer."""

_BY_REASON: Mapping[str | None, str] = MappingProxyType(
    {
        "cancelled": STOPPED,
        "length": "max tokens",
        "context": "context full",
        "error": "the answer broke off",
        None: "recording cut short",
    }
)
_BY_STATE: Mapping[State, str] = MappingProxyType(
    {
        State.CUT: "cut off: specchat ended while this was written",
        State.STREAMING: "being written by another specchat",
        State.STOPPED: STOPPED,
    }
)


def figures_line(stats: Mapping[str, Any]) -> str:
    """Speed, speed-up, acceptance rate, α and τ: `571 tok/s · 1.14 × plain · accepted 33 % · α 0.50 · τ 2.0`.

    `stats` are named as in the last line of a trace. Values that are None are left out, but for a speed-up that is not
    known, `×? plain`. Without a speed, the line begins with the number of tokens.
    """
    return " · ".join((*([] if stats["tokens_per_second"] else [_tokens(stats)]), *_figures(stats)))


def statistics_line(stats: Mapping[str, Any], start: Mapping[str, Any]) -> str:
    """The figures of a finished turn with the verifier, where the time went, and the seed.

    `start` and `stats` are from the first and last lines of a trace. The default verifier is not named, nor one that
    judged nothing.
    """
    label = rule_in(start) if stats["num_draft_tokens"] else ""
    times = " ".join(f"{name} {share} %" for name, share in time_percents(time_shares(stats)).items())
    parts = (_tokens(stats), label, *_figures(stats), times, f"seed {start['seed']}")
    return " · ".join(part for part in parts if part)


def speed_words(speed: float) -> str:
    """Tokens per second: `61.0 tok/s`."""
    return f"{speed:.{0 if speed >= 100 else 1}f} tok/s"


def speedup_words(speedup: float | None) -> str:
    """A measured speed-up: `1.14 × plain`, or `×? plain` if it is not known."""
    return UNKNOWN if speedup is None else f"{speedup:.2f} × plain"


def time_shares(stats: Mapping[str, Any]) -> dict[str, float]:
    """The shares of draft, verify, rollback and other in the time of decoding; empty if no pass was timed.

    Old traces did not time the rollback, which counts as 0 then. A server reports no times of passes.
    """
    times = {name: float(stats.get(f"{name}_ms", 0.0)) for name in ("draft", "verify", "rollback", "other")}
    total = sum(times.values()) if times["verify"] else 0.0
    return {name: time / total for name, time in times.items()} if total > 0 else {}


def shown_shares(shares: Mapping[str, float], least: float = 0.005) -> dict[str, float]:
    """The shares of the time as they are shown: a rollback below `least` counts as `other`."""
    combined = dict(shares)
    if combined.get("rollback", 1.0) < least:
        combined["other"] += combined.pop("rollback")
    return combined


def time_percents(shares: Mapping[str, float], least: float = 0.005) -> dict[str, int]:
    """The shares of the time in whole percents, which are the same wherever they are said."""
    whole = dict(zip(shares, percents(shares.values()), strict=True))
    if shares.get("rollback", 1.0) < least:
        whole["other"] += whole.pop("rollback")
    return whole


def reading_words(progress: PromptProgress) -> str:
    """Says how much of a prompt was read, `reading 312 of 1,204 tokens`, and why reading is slow."""
    words = f"reading {progress.read:,} of {progress.total:,} tokens"
    return f"{words}: other programs keep the cores busy" if progress.contended else words


def repeating_words(period: int) -> str:
    """What an answer repeats over and over: `repeats the same 23 tokens`; empty for 0."""
    return "" if not period else f"repeats the same {period} tokens" if period > 1 else "repeats the same token"


def limit_words(reason: str | None, max_tokens: int, how: str) -> str:
    """That an answer ended at the limit that holds unless the user chooses one, and `how` to; empty if it did not."""
    if reason != "length" or max_tokens != LONGEST_ANSWER:
        return ""
    return f"the answer ended after {LONGEST_ANSWER:,} tokens, the usual limit: {how} 0 lifts it"


def ending(reason: str | None) -> str:
    """The reason in a turn's last line in words; None stands for a recording without that line."""
    return _BY_REASON.get(reason, "")


def ending_in(state: State) -> str:
    """How a stored answer without figures ended."""
    return _BY_STATE.get(state, "")


def with_ending(reason: str | None, *figures: str) -> str:
    """How an answer ended, followed by figures; nothing for an answer that ended by itself."""
    return " · ".join(part for part in (ending(reason), *figures) if part)


def rule_in(start: Mapping[str, Any]) -> str:
    """The rule in the first line of a trace: `rejection`, `≈ typical (lossy)`, empty for the default one.

    A rule for thoughts alone comes after the answer's rule: `≈ typical in thoughts (lossy)`.
    """
    rule, of_thoughts = start["verifier"], start.get("thought_verifier", SAME)
    is_lossy = start["lossless"] is False if of_thoughts == SAME else rule in LOSSY_VERIFIERS
    label = f"{LOSSY_SIGN} {rule} (lossy)" if is_lossy else "" if rule == DEFAULT_VERIFIER else rule
    thoughts = "" if of_thoughts == SAME else f"{LOSSY_SIGN} {of_thoughts} in thoughts (lossy)"
    return " · ".join(filter(None, (label, thoughts)))


def _tokens(stats: Mapping[str, Any]) -> str:
    count = stats["num_tokens"]
    return f"{count} token{'' if count == 1 else 's'}"


def _figures(stats: Mapping[str, Any]) -> Iterator[str]:
    if speed := stats["tokens_per_second"]:
        yield speed_words(speed)
    if stats["num_tokens"] and "speedup" in stats:
        yield speedup_words(stats["speedup"])
    if (rate := stats["acceptance_rate"]) is not None:
        yield f"accepted {per_cent(rate)}"
    if (alpha := stats["alpha"]) is not None:
        yield f"α {alpha:.2f}"
    if (efficiency := stats["block_efficiency"]) is not None and stats["num_draft_tokens"]:
        yield f"τ {efficiency:.1f}"
    if words := repeating_words(stats.get("repeats", 0)):
        yield words
