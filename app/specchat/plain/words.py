"""Figures and outcomes in words, for someone who listens: no signs that a screen reader leaves out or spells."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from specchat.stats.rules import rule_label
from specchat.terminal.filter import clean_line
from specchat.traces.trace import Trace
from specchat_engine.decoding.rounds import Outcome, Round

_SPOKEN = {"×": "times", "α": "alpha", "τ": "tau", "⇠": "with the draft", " · ": ", "}


def spoken(text: str) -> str:
    """A sentence of the app's own with words in place of its signs."""
    for sign, word in _SPOKEN.items():
        text = text.replace(sign, word)
    return text


def figures_told(stats: Mapping[str, Any], start: Mapping[str, Any]) -> str:
    """One line behind an answer: how long, how fast, what drafting brought. What was not measured is left out."""
    count, drafted = stats["num_tokens"], stats["num_draft_tokens"]
    parts = [f"{count} token{'' if count == 1 else 's'}"]
    if (speed := stats["tokens_per_second"]) is not None:
        parts.append(f"{speed:.0f} a second" if speed >= 10 else f"{speed:.1f} a second")
    if (speedup := stats["speedup"]) is not None:
        parts.append(f"{speedup:.2f} times as fast as without a draft")
    if drafted:
        parts.append(f"{stats['num_accepted_tokens']} of {drafted} drafted tokens accepted")
        if label := rule_label(start["verifier"], lossless=start["lossless"]):
            parts.append(label)
    return ", ".join(parts)


def refusals_told(trace: Trace) -> Iterator[str]:
    """A line for each round in which the target refused a token, and one that sums up."""
    refused = 0
    for event in trace.rounds:
        if line := _refusal(event):
            refused += 1
            yield line
    accepted = sum(token.outcome is Outcome.ACCEPTED for event in trace.rounds for token in event.drafted)
    yield f"{accepted} accepted and {refused} refused in {len(trace.rounds)} rounds."


def _refusal(event: Round) -> str:
    wrong = next((token for token in event.drafted if token.outcome is Outcome.REJECTED), None)
    if wrong is None:
        return ""
    behind = sum(token.outcome is Outcome.DISCARDED for token in event.drafted)
    more = f", {behind} more thrown away" if behind else ""
    return f"Round {event.index + 1}: not {_token(wrong.text)} but {_token(event.token.text)}{more}."


def _token(text: str) -> str:
    """A token in quotes; one that is only blank by its name."""
    seen = clean_line(text)
    return f"“{seen}”" if seen else "a new line" if "\n" in text else "a blank"
