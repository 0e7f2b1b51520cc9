"""Errors, limits and clients that leave, over a scripted engine behind a real server."""

from __future__ import annotations

import json
import socket
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
import pytest

from app.serve.conftest import Served
from specchat.engine_process.errors import EngineDied, LoadFailed, RequestFailed
from specchat.serve.answers.shape import Shape
from specchat.settings.server import Serving
from support.scripted_server import HELLO, LOADED, Script, ScriptedEngine

CHAT = "/v1/chat/completions"
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "hi"}]}
MESSAGES: dict[str, Any] = ASKED | {"max_tokens": 8}


@pytest.mark.parametrize(
    ("body", "param"),
    [
        (b"", None),
        (b"[1]", None),
        (b"{", None),
        (b'{"messages": NaN}', None),
        (b"[" * 100_000, None),
        (b'{"messages": [{"role": "user", "content": "\\ud800"}]}', None),
        (b"\xff\xfe", None),
        (b"{}", "messages"),
        (b'{"messages": []}', "messages"),
        (b'{"messages": [{"role": "wizard", "content": "hi"}]}', "messages[0].role"),
        (b'{"messages": [{"role": "user", "content": [{"type": "text"}]}]}', "messages[0].content[0].text"),
        (
            b'{"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "x"}}]}]}',
            "messages[0].content[0].image_url",
        ),
        (b'{"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}', "messages[0].content[0]"),
    ],
)
def test_what_is_no_request_gets_a_clear_error(http: httpx2.Client, body: bytes, param: str | None) -> None:
    answer = http.post(CHAT, content=body)
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert error["type"] == "invalid_request_error"
    assert error["param"] == param
    assert "\n" not in error["message"]


@pytest.mark.parametrize(
    ("field", "value", "param"),
    [
        ("temperature", -1, "temperature"),
        ("temperature", "hot", "temperature"),
        ("top_p", 1.5, "top_p"),
        ("top_k", -2, "top_k"),
        ("max_tokens", 0, "max_tokens"),
        ("n", 0, "n"),
        ("n", 1000, "n"),
        ("stop", ["x"] * 17, "stop"),
        ("logit_bias", {"one": 1}, "logit_bias.one"),
        ("logit_bias", {"-3": 1}, "logit_bias"),
        ("top_logprobs", 3, "top_logprobs"),
        ("k", 17, "k"),
        ("k", "many", "k"),
        ("drafter", "oracle", "drafter"),
        ("verifier", "trust", "verifier"),
        ("think_tokens", -1, "think_tokens"),
        ("seed", 2**70, "seed"),
        ("tool_choice", {"type": "function", "function": {"name": "nothing"}}, "tool_choice"),
        ("tool_choice", "required", "tool_choice"),
        ("tools", [{"type": "function", "function": {"name": ""}}], "tools[0].function.name"),
        ("response_format", {"type": "xml"}, "response_format.type"),
        ("response_format", {"type": "json_schema"}, "response_format.json_schema.schema"),
        (
            "response_format",
            {"type": "json_schema", "json_schema": {"strict": True, "schema": {"uniqueItems": True}}},
            "response_format.json_schema.schema",
        ),
    ],
)
def test_a_bad_value_is_named(http: httpx2.Client, engine: ScriptedEngine, field: str, value: Any, param: str) -> None:
    answer = http.post(CHAT, json=ASKED | {field: value})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param
    assert not engine.asked


@pytest.mark.parametrize("path", [CHAT, "/v1/messages"])
def test_a_name_out_of_a_request_does_not_break_the_line(http: httpx2.Client, path: str) -> None:
    error = http.post(path, json=MESSAGES | {"logit_bias": {"a\nb": 1, "x" * 9000: "y"}}).json()["error"]
    assert error["message"].startswith("logit_bias.a b: ")
    answer = http.post(path, json=MESSAGES | {"logit_bias": {"x" * 9000: "y"}})
    assert len(answer.content) < 1500


def test_unknown_fields_and_nulls_are_ignored(http: httpx2.Client, engine: ScriptedEngine) -> None:
    asked = ASKED | {
        "user": "me",
        "store": True,
        "service_tier": "auto",
        "temperature": None,
        "stop": None,
        "tools": None,
    }
    assert http.post(CHAT, json=asked).status_code == 200
    assert len(engine.asked) == 1


def test_a_full_queue_says_when_to_come_back(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.busy = True
    for asked in (ASKED, ASKED | {"stream": True}, ASKED | {"n": 3}):
        answer = http.post(CHAT, json=asked)
        assert answer.status_code == 429
        assert answer.headers["retry-after"] == "7"
        assert answer.json()["error"]["type"] == "rate_limit_error"
    engine.busy = False
    assert http.post(CHAT, json=ASKED).status_code == 200


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EngineDied("the engine's process ended"), 502),
        (LoadFailed("no such file"), 503),
        (RequestFailed("the prompt is too long", theirs=True), 400),
        (RequestFailed("llama.cpp failed"), 500),
    ],
)
def test_an_error_before_the_first_token_is_a_status(
    http: httpx2.Client, engine: ScriptedEngine, error: Any, status: int
) -> None:
    engine.scripts = [Script(error=error)] * 4 + [HELLO]
    for asked in (ASKED, ASKED | {"stream": True}):
        answer = http.post(CHAT, json=asked)
        assert answer.status_code == status
        assert answer.json()["error"]["message"] == str(error)
    answer = http.post("/v1/messages", json=MESSAGES)
    assert answer.status_code == status
    assert answer.json()["type"] == "error"
    assert http.post("/v1/responses", json={"input": "hi", "stream": True}).status_code == status
    assert http.post(CHAT, json=ASKED).status_code == 200


def test_a_stream_that_has_to_wait_has_its_headers_and_then_comments(
    http: httpx2.Client, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.serve.endpoints.PING_S", 0.05)
    engine.scripts = [Script(HELLO.rounds, waits_at=0)]
    with http.stream("POST", CHAT, json=ASKED | {"stream": True}) as answer:
        assert answer.status_code == 200
        assert next(answer.iter_lines()) == ": waiting"
    assert engine.freed.wait(600)


def test_an_error_that_comes_late_is_the_last_event_of_the_stream(
    served: Served, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.serve.endpoints.SOON_S", 0.01)
    engine.scripts = [Script(HELLO.rounds, waits_at=1)]
    answer = httpx2.post(
        f"{served(Serving(timeout=0.5))}{CHAT}", json=ASKED | {"stream": True}, timeout=600, trust_env=False
    )
    assert answer.status_code == 200
    assert "took longer than 0.5 seconds" in answer.text


def test_an_answer_that_the_engine_gave_up_is_no_answer(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, reason="error")]
    assert http.post(CHAT, json=ASKED).status_code == 500
    assert "the answer ended with an error" in http.post(CHAT, json=ASKED | {"stream": True}).text


def test_an_error_that_nobody_expected_is_one_line(
    http: httpx2.Client, engine: ScriptedEngine, caplog: pytest.LogCaptureFixture
) -> None:
    engine.scripts = [Script(error=KeyError("oops"))]  # type: ignore[arg-type] # a bug
    answer = http.post(CHAT, json=ASKED)
    assert answer.status_code == 500
    assert answer.json()["error"]["message"] == "an unexpected KeyError; the server's log has more"
    assert "oops" in caplog.text


def test_a_body_above_the_limit_is_not_read(served: Served, engine: ScriptedEngine) -> None:
    url = served(Serving(max_body=0.001))
    with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
        body = json.dumps({"messages": [{"role": "user", "content": "x" * 2000}]}).encode()
        assert client.post(CHAT, content=body).status_code == 413
        assert client.post(CHAT, content=iter([body[:900], body[900:]])).status_code == 413, "without a length"
        assert client.post("/v1/messages", content=body).json()["error"]["type"] == "request_too_large"
        assert client.post(CHAT, json=ASKED).status_code == 200
    assert len(engine.asked) == 1


@pytest.mark.parametrize(("value", "most"), [(b"0", 500_000), (b"[]", 250_000), (b"{}", 250_000)])
def test_a_body_with_too_many_values_is_not_read(http: httpx2.Client, value: bytes, most: int) -> None:
    for number, status in ((most, 200), (2 * most, 413)):
        body = b'{"messages": [{"role": "user", "content": "hi"}], "x": [%s]}' % b",".join([value] * number)
        assert http.post(CHAT, content=body).status_code == status


def test_a_server_without_vision_reads_smaller_bodies(served: Served, engine: ScriptedEngine) -> None:
    large = {"messages": [{"role": "user", "content": "x" * 9 * 2**20}]}

    def answer(url: str) -> httpx2.Response:
        return httpx2.post(f"{url}{CHAT}", json=large, timeout=600, trust_env=False)

    assert answer(served()).status_code == 200
    engine.info = replace(LOADED, no_images_because="it has no projector")
    refused = answer(served())
    assert (refused.status_code, refused.json()["error"]["message"][:28]) == (413, "the request is too large: at")
    assert answer(served(Serving(max_body=10))).status_code == 200


def test_unknown_paths_and_methods_are_errors_in_the_same_shape(http: httpx2.Client) -> None:
    answer = http.get("/v1/nothing")
    assert (answer.status_code, answer.json()["error"]["type"]) == (404, "not_found_error")
    answer = http.get(CHAT)
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert http.get("/v1/messages").json()["type"] == "error"


def test_an_answer_that_takes_too_long_ends(served: Served, engine: ScriptedEngine) -> None:
    url = served(Serving(timeout=0.2))
    engine.scripts = [Script(HELLO.rounds, waits_at=2)]
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=600) as client:
        asked: Any = {"model": "m", "messages": ASKED["messages"]}
        with pytest.raises(openai.APIStatusError) as raised:
            client.chat.completions.create(**asked)
        assert raised.value.status_code == 504
        with pytest.raises(openai.APIError, match="longer than"):
            list(client.chat.completions.create(**asked, stream=True))
    assert engine.freed.wait(600)
    assert engine.running == 0


def test_reading_a_prompt_may_take_longer(
    served: Served, engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.serve.endpoints.PING_S", 0.05)
    monkeypatch.setattr("specchat.serve.endpoints.SOON_S", 0.01)
    url = served(Serving(timeout=0.1))
    engine.scripts = [Script(HELLO.rounds, waits_at=0)]
    with httpx2.stream("POST", f"{url}{CHAT}", json=ASKED | {"stream": True}, timeout=600, trust_env=False) as answer:
        lines = (line for line in answer.iter_lines() if line)
        assert [next(lines) for _ in range(10)] == [": waiting"] * 10, "0.5 seconds without an error"
    assert engine.freed.wait(600)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("waits_at", [0, 2])
@pytest.mark.parametrize("n", [1, 3])
def test_a_client_that_leaves_frees_its_place(
    served: Served, engine: ScriptedEngine, stream: bool, waits_at: int, n: int
) -> None:
    engine.scripts = [Script(HELLO.rounds, waits_at=waits_at)]
    body = json.dumps(ASKED | {"stream": stream, "n": n}).encode()
    address = urlsplit(served())
    with socket.create_connection((address.hostname, address.port), timeout=600) as connection:
        head = f"POST {CHAT} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)
        assert engine.started.wait(600)
    assert engine.freed.wait(600)


def test_nothing_of_what_was_said_is_logged(
    http: httpx2.Client, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level("INFO")
    http.post(CHAT, json={"messages": [{"role": "user", "content": "a secret"}]})
    printed = capfd.readouterr()
    assert "secret" not in caplog.text + printed.out + printed.err
    assert "Hello" not in caplog.text + printed.out + printed.err


def test_prompts_and_answers_are_logged_where_that_is_wanted(served: Served) -> None:
    logged: list[tuple[str, Any, str]] = []

    def log(path: str, body: Any, shape: Shape) -> None:
        logged.append((path, body, shape.answers[0].content))

    with httpx2.Client(base_url=served(log=log), timeout=600, trust_env=False) as client:
        for stream in (False, True):
            client.post(CHAT, json=ASKED | {"stream": stream})
    assert logged == [(CHAT, ASKED | {"stream": stream}, "Hello world") for stream in (False, True)]


def test_the_model_is_listed_and_can_be_asked_for(
    client: openai.OpenAI, claude: anthropic.Anthropic, http: httpx2.Client
) -> None:
    (model,) = client.models.list()
    assert model.id == "target"
    assert model.model_extra is not None
    assert model.model_extra["max_model_len"] == 512
    assert model.model_extra["specchat"]["drafters"] == ["hybrid", "model", "lookup", "none"]
    assert client.models.retrieve("target").id == "target"
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        client.models.retrieve("gpt-9")
    assert "/secret" not in http.get("/v1/models").text
    assert [each.id for each in claude.models.list()] == ["target"]


def test_the_server_says_that_it_is_well(http: httpx2.Client, engine: ScriptedEngine) -> None:
    assert http.get("/health").json() == {"status": "ok", "engine": "running"}
    engine.alive = False
    assert http.get("/health").json() == {"status": "ok", "engine": "starts with the next request"}
