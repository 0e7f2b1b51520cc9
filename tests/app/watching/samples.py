"""Lines that a watched server sends, and a server that replays them."""

from __future__ import annotations

from typing import Any

from app.remote.samples import models
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import round_line
from support.replaying import Reply, page
from support.scripted_server import made_round

MODELS: Reply = page(models("specchat", specchat={"version": "0.1.0", "draft": "draft", "drafters": ["model"]}))


def state(*running: int, lost: int = 0) -> dict[str, Any]:
    return {"type": "watch", "running": [*running], "lost": lost}


def start(number: int, question: str = "hi", **more: Any) -> dict[str, Any]:
    return {
        "request": number,
        "type": "start",
        "schema": 1,
        "target": {"name": "target", "n_params": 0},
        "draft": None,
        "verifier": "coupled",
        "lossless": True,
        "seed": 7,
        "turn": 0,
        "messages": [{"role": "user", "content": question}] if question else [],
    } | more


def event(index: int, text: str = "ab") -> Round:
    """A round that accepted the first letters and ended with the last one, after a wrong draft."""
    return made_round(index, tuple(text[:-1]), text[-1], wrong=1)


def made(number: int, index: int, text: str = "ab") -> dict[str, Any]:
    return {"request": number, **round_line(event(index, text))}


def end(number: int, text: str, reason: str = "end") -> dict[str, Any]:
    stats = TurnStats().to_json() | {"num_tokens": 2, "tokens_per_second": 50.0, "speedup": 1.5}
    return {"request": number, "type": "end", "reason": reason, "text": text, "stats": stats}


def failure(number: int, message: str) -> dict[str, Any]:
    return {"request": number, "type": "error", "message": message}
