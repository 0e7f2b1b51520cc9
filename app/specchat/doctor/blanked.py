"""A trace without its texts: rounds, times and probabilities, in the form that `specchat replay` reads.

Only lines and keys that are known to be harmless are kept, each by name. Everything else is left out.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from specchat.terminal.filter import clean_line
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import DraftedToken, Round, TargetToken
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import round_line

_START = ("schema", "drafter", "verifier", "lossless", "seed", "turn", "prompt_tokens", "versions", "machine")
_MODEL = ("name", "description", "architecture", "n_params", "size_bytes", "n_ctx", "n_ctx_train", "n_vocab")
_ENDINGS = ("end", "stop", "length", "context", "cancelled", "error")
_SOURCES = ("model", "translated", "lookup", "none")
_REASON = 60
"""The most characters of a reason. Reasons are written by the engine and are short."""


def blanked(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The trace's lines without texts, token ids and messages; lines that cannot be read are left out."""
    for line in lines:
        try:
            found = json.loads(line)
            if isinstance(found, dict) and (kept := _blank(found)):
                yield kept
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue


def _blank(line: Mapping[str, Any]) -> dict[str, Any] | None:
    match line.get("type"):
        case "start":
            return _start(line)
        case "round":
            return round_line(_round(from_json(Round, line)))
        case "end":
            ending = str(line["reason"])
            return {
                "type": "end",
                "reason": ending if ending in _ENDINGS else "other",
                "text": "",
                "stats": _numbers({name: line["stats"].get(name) for name in TurnStats().to_json()}),
                "costs": _numbers({name: line.get("costs", {}).get(name) for name in ("verify", "draft_step")}),
            }
        case "error":
            return {"type": "error", "message": "(left out)"}
    return None


def _start(line: Mapping[str, Any]) -> dict[str, Any]:
    models = {
        name: {key: line[name][key] for key in _MODEL if key in line[name]} if line.get(name) else None
        for name in ("target", "draft")
    }
    messages = [
        {"role": clean_line(str(message["role"]))[:9], "content": "", "characters": len(message["content"])}
        for message in line.get("messages", ())
    ]
    params = {name: value for name, value in line.get("params", {}).items() if _is_number(value) or value == "auto"}
    kept = {name: line[name] for name in _START if name in line}
    return {"type": "start", **kept, **models, "params": params, "messages": messages}


def _round_keys(line: Mapping[str, Any]) -> set[str]:
    return {"index", "source", "k", "reason", "drafted", "token", "top", "ms", "t_ms"} & line.keys()


def _round(event: Round) -> Round:
    return Round(
        index=int(event.index),
        source=event.source if event.source in _SOURCES else "other",
        k=int(event.k),
        reason=clean_line(str(event.reason))[:_REASON],
        drafted=tuple(
            DraftedToken(0, "", _number(token.q), _number(token.p), token.outcome) for token in event.drafted
        ),
        token=TargetToken(None if event.token.id is None else 0, "", _number(event.token.p), event.token.kind),
        top=(),
        ms=type(event.ms)(
            *(float(part) for part in (event.ms.draft, event.ms.verify, event.ms.other, event.ms.rollback))
        ),
        t_ms=float(event.t_ms),
    )


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, int | float)


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _numbers(value: Any) -> Any:
    """Numbers, and lists and mappings of numbers. Anything else becomes None."""
    if isinstance(value, dict):
        return {name: _numbers(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_numbers(item) for item in value]
    return value if _is_number(value) else None
