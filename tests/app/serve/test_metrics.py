"""What Prometheus reads, by Prometheus' own parser."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx2
import pytest
from prometheus_client.parser import text_string_to_metric_families

import specchat_assets
from specchat.engine_process.errors import EngineDied
from support.scripted_server import HELLO, Script, ScriptedEngine

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}


def samples(http: httpx2.Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """All samples by name and labels, the model's name left out."""
    answer = http.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return {
        (
            sample.name.removeprefix("specchat:"),
            frozenset(sample.labels.items() - {("model_name", "target")}),
        ): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def sample(http: httpx2.Client, name: str, **labels: str) -> float:
    return samples(http)[name, frozenset(labels.items())]


def test_drafts_are_counted_under_vllms_names(http: httpx2.Client) -> None:
    for _ in range(3):
        http.post(CHAT, json=ASKED)
    assert sample(http, "spec_decode_num_drafts_total", kind="chat") == 3
    assert sample(http, "spec_decode_num_draft_tokens_total", kind="chat") == 12
    assert sample(http, "spec_decode_num_accepted_tokens_total", kind="chat") == 6
    found = samples(http)
    per_position = {
        dict(labels)["position"]: value
        for (name, labels), value in found.items()
        if name == "spec_decode_num_accepted_tokens_per_pos_total"
    }
    assert per_position == {"0": 3, "1": 3}


def test_tokens_times_and_reasons_are_counted(http: httpx2.Client) -> None:
    http.post(CHAT, json=ASKED)
    assert sample(http, "prompt_tokens_total", kind="chat") == 3
    assert sample(http, "generation_tokens_total", kind="chat") == 5
    assert sample(http, "request_success_total", kind="chat", finished_reason="stop") == 1
    assert sample(http, "decode_seconds_total", kind="chat", part="draft") == pytest.approx(0.003)
    assert sample(http, "decode_seconds_total", kind="chat", part="verify") == pytest.approx(0.012)
    for name in ("time_to_first_token_seconds", "time_per_output_token_seconds", "e2e_request_latency_seconds"):
        assert sample(http, f"{name}_count", kind="chat") == 1
        assert sample(http, f"{name}_bucket", kind="chat", le="+Inf") == 1
    assert sample(http, "num_requests_running") == 0


def test_kinds_of_requests_are_told_apart(http: httpx2.Client) -> None:
    function = {"name": "f", "parameters": {"type": "object"}}
    http.post(CHAT, json=ASKED | {"response_format": {"type": "json_object"}})
    http.post(CHAT, json=ASKED | {"tools": [{"type": "function", "function": function}]})
    http.post("/v1/completions", json={"prompt": "a"})
    for kind in ("json", "tools", "completion"):
        assert sample(http, "generation_tokens_total", kind=kind) == 5


def test_failures_are_counted_by_their_status(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, error=EngineDied("gone"), fails_at=2)]
    http.post(CHAT, json=ASKED)
    assert sample(http, "request_failure_total", kind="chat", status="502") == 1


def test_the_engines_state_is_exported(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.running, engine.waiting, engine.deaths, engine.alive = 3, 2, 1, False
    for name, value in (("running", 3), ("waiting", 2)):
        assert sample(http, f"num_requests_{name}") == value
    assert (sample(http, "engine_deaths"), sample(http, "engine_alive")) == (1, 0)


def test_the_dashboard_asks_for_nothing_that_is_not_exported(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.scripts = [HELLO, Script(error=EngineDied("gone"))]
    for _ in range(2):
        http.post(CHAT, json=ASKED)
    exported = {name for name, _ in samples(http)}
    dashboard = json.loads((Path(specchat_assets.__file__).parent / "grafana" / "dashboard.json").read_text("utf-8"))
    asked = {
        name
        for panel in dashboard["panels"]
        for target in panel["targets"]
        for name in re.findall(r"specchat:(\w+)", target["expr"])
    }
    assert len(asked) > 15
    assert asked <= exported
