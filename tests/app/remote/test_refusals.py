from __future__ import annotations

import json
from typing import Any

import pytest

from app.remote.samples import VLLM
from specchat.remote.address import read_address
from specchat.remote.refusals import Refused, refusal, streamed_error

HERE = read_address("host:1", key="sk-secret")


def refused(status: int, body: Any, **headers: str) -> Refused:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    found = refusal(HERE, status, content, headers)
    assert "\n" not in str(found)
    assert "sk-secret" not in str(found)
    return found


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"message": "no such\nmodel", "type": "x"}}, "host:1 answers 400: no such model"),
        ({"error": "no such model"}, "host:1 answers 400: no such model"),
        ({"object": "error", "message": "no such model"}, "host:1 answers 400: no such model"),
        ({"detail": "no such model"}, "host:1 answers 400: no such model"),
        ({"detail": [{"loc": ["body", "top_k"], "msg": "too small"}]}, "host:1 answers 400: top_k: too small"),
        (b"plain words", "host:1 answers 400: plain words"),
        (b"<!doctype html><html>nginx</html>", "host:1 answers 400"),
        (b"", "host:1 answers 400"),
        ([1], "host:1 answers 400"),
        ({"error": {"message": "\x1b[2Jhi"}}, "host:1 answers 400: \ufffd[2Jhi"),
    ],
)
def test_every_shape_of_an_error_is_one_line(body: Any, said: str) -> None:
    assert str(refused(400, body)) == said


def test_a_key_that_is_wrong_or_missing_is_said() -> None:
    wrong = refused(401, {"error": {"message": "Incorrect API key provided: sk-secret"}})
    assert str(wrong) == (
        "host:1 does not accept the key (401: Incorrect API key provided: <key>): "
        "give it with SPECCHAT_API_KEY or --api-key"
    )
    assert str(refusal(read_address("host:1"), 401, b"", {})).startswith("host:1 wants a key (401)")


def test_an_address_without_an_api_is_said() -> None:
    assert str(refused(404, b"")) == "host:1 does not speak OpenAI's API (404): check the address"
    assert str(refused(404, {"error": {"message": "no model x"}})) == "host:1 answers 404: no model x"


def test_a_busy_server_says_how_long_to_wait() -> None:
    busy = refused(429, {"error": {"message": "full"}}, **{"Retry-After": "7"})
    assert (busy.is_busy, busy.wait) == (True, 7.0)
    loading = refused(503, {"error": {"message": "Loading model"}}, **{"Retry-After": "soon"})
    assert (loading.is_busy, loading.wait) == (True, None)
    assert not refused(500, b"").is_busy


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "the request exceeds it", "type": "exceed_context_size_error"}},
        {"error": {"message": "the request exceeds it", "code": "context_length_exceeded"}},
        {"error": {"message": "This model's maximum context length is 1024 tokens."}},
        {"message": "The input (1200 tokens) is longer than the model's context length (1024 tokens)."},
        json.loads((VLLM / "too-long.json").read_text()),
    ],
)
def test_a_conversation_that_is_too_long_is_known_as_such(body: Any) -> None:
    assert refused(400, body).is_too_long
    assert not refused(500, body).is_too_long


def test_an_error_in_a_stream_is_one_line() -> None:
    assert str(streamed_error(HERE, {"message": "out of\nmemory"})) == (
        "host:1 ended the answer with an error: out of memory"
    )
    assert str(streamed_error(HERE, None)) == "host:1 ended the answer with an error"


def test_a_server_that_cannot_be_watched_is_not_asked_for_with_a_key() -> None:
    body = {"error": {"message": "watching is off here", "type": "permission_error", "code": "watching_off"}}
    assert str(refused(403, body)) == "host:1 answers 403: watching is off here"
    assert "does not accept the key" in str(refused(403, {"error": {"message": "no", "code": "other"}}))
