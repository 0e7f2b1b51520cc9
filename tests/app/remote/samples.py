"""Servers and their messages, as tests need them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from specchat.engine_process.protocol import ChatMessage
from specchat.remote.servers import EngineKind, RemoteServer, ServedModel
from specchat_engine.decoding.rounds import Round
from support.replaying import Reply, page

RECORDED = Path(__file__).parent / "recorded"
VLLM, SGLANG = RECORDED / "vllm-0.32.0", RECORDED / "sglang-0.5.23"

QUESTION = (ChatMessage("user", "What is speculative decoding?"),)


def server(engine: EngineKind = EngineKind.OPENAI, **changes: Any) -> RemoteServer:
    """A server with one model."""
    values: dict[str, Any] = {"model": ServedModel("guide", "guide", 1024), "models": ("guide",)}
    return RemoteServer(engine, **(values | changes))


def messages(file: Path) -> list[Any]:
    """The messages of a recorded stream."""
    lines = [line.removeprefix("data: ") for line in file.read_text().splitlines() if line.startswith("data: {")]
    return [json.loads(line) for line in lines]


def models(owner: str = "", *names: str, **more: Any) -> Any:
    """A list of models as OpenAI's API has it."""
    return {"object": "list", "data": [{"id": name, "owned_by": owner} | more for name in names or ("guide",)]}


VLLM_PAGES: Mapping[str, Reply] = {
    "/v1/models": page(json.loads((VLLM / "models.json").read_text())),
    "/version": page({"version": "0.32.0"}),
    "/metrics": page((VLLM / "metrics.txt").read_text()),
}
SGLANG_PAGES: Mapping[str, Reply] = {
    "/v1/models": page(json.loads((SGLANG / "models.json").read_text())),
    "/server_info": page(json.loads((SGLANG / "server_info.json").read_text())),
}


def delta(content: str | None = None, *, finish: str | None = None, **more: Any) -> dict[str, Any]:
    """A message with some text."""
    return {"choices": [{"index": 0, "delta": {"content": content}, "finish_reason": finish}]} | more


def word(event: Round) -> tuple[int, int, int]:
    """What a round drafted, accepted and emitted."""
    return len(event.drafted), event.num_accepted, event.num_emitted
