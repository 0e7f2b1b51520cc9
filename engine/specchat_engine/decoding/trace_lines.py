"""The lines of a trace that stand around an answer's rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.prompt.template import Message
from specchat_engine.settings import Settings
from specchat_engine.verifiers import VERIFIERS

SCHEMA = 1
"""The version of the trace lines."""


def start_line(
    about: Mapping[str, Any],
    settings: Settings,
    *,
    seed: int,
    turn: int,
    prompt_tokens: int,
    messages: Sequence[Message],
    prefix: Sequence[int],
    prefix_text: str,
) -> dict[str, Any]:
    """The first one; it tells the prefix where the answer has one. `about` describes models, versions and machine."""
    line = {
        "type": "start",
        "schema": SCHEMA,
        "target": about.get("target"),
        "draft": about.get("draft"),
        "drafter": settings.drafter,
        "verifier": settings.verifier,
        "lossless": VERIFIERS[settings.verifier].lossless,
        "params": {"k": settings.k} | settings.sampling.to_json(),
        "seed": seed,
        "turn": turn,
        "prompt_tokens": prompt_tokens,
        "messages": [{"role": message.role, "content": message.content} for message in messages],
        "versions": about.get("versions", {}),
        "machine": about.get("machine", {}),
    }
    return line | ({"prefix": [*prefix], "prefix_text": prefix_text} if prefix else {})


def end_line(reason: str | None, text: str, stats: TurnStats, costs: MeasuredCosts) -> dict[str, Any]:
    """The last one."""
    return {"type": "end", "reason": reason, "text": text, "stats": stats.to_json(), "costs": costs.to_json()}
