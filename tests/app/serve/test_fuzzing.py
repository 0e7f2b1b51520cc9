"""Requests made up from the API's own description: each is answered, or refused in the API's shape."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.generation import GenerationMode

from specchat.serve.openapi import description
from support.scripted_server import ScriptedEngine, on_loopback, scripted_app

SCHEMA = schemathesis.openapi.from_dict(description())
POSTED = [path for path, methods in description()["paths"].items() if "post" in methods]
EXAMPLES = settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with on_loopback(scripted_app(ScriptedEngine())) as started:
        yield started


def check(answer: httpx2.Response, path: str, body: Any) -> None:
    """An answer, or an error of the client in one line."""
    assert answer.status_code == 200 or 400 <= answer.status_code < 500, (body, answer.text)
    if answer.status_code != 200:
        error = answer.json()["error"]
        assert error["message"]
        assert "\n" not in error["message"]
        assert "Traceback" not in answer.text
        if path.startswith("/v1/messages"):
            assert answer.json()["type"] == "error"


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize("path", POSTED)
def test_no_request_from_the_description_breaks_the_server(url: str, path: str, mode: GenerationMode) -> None:
    operation = SCHEMA[path]["POST"]

    @given(case=operation.as_strategy(generation_mode=mode))
    @EXAMPLES
    def fuzz(case: Any) -> None:
        with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
            sent = {"json": case.body} if isinstance(case.body, dict | list | str | int | float | None) else {}
            answer = client.request(case.method, path, **sent)
        check(answer, path, case.body)

    fuzz()


VALUES: list[Any] = [
    None,
    True,
    -1,
    0,
    2**63,
    1e308,
    "",
    "x" * 5000,
    "\x00\x1b",
    [],
    [[]],
    {},
    {"type": "function"},
    [{}],
]


@pytest.mark.parametrize("path", POSTED)
def test_no_value_in_place_of_another_breaks_the_server(url: str, path: str) -> None:
    """Each field of a request that is answered gets values of all kinds."""
    usual: dict[str, Any] = {
        "messages": [{"role": "user", "content": "hi"}],
        "prompt": "a",
        "input": "a",
        "max_tokens": 9,
    }
    name = SCHEMA[path]["POST"].definition.raw["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    fields = description()["components"]["schemas"][name.rpartition("/")[2]]["properties"]
    chosen = random.Random(7)
    with httpx2.Client(base_url=url, timeout=600, trust_env=False) as client:
        assert client.post(path, json=usual).status_code == 200
        for field in fields:
            for value in chosen.sample(VALUES, 8):
                body = usual | {field: value}
                check(client.post(path, json=body), path, body)
