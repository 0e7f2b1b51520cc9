"""`GET /v1/watch`: who may watch, and what is sent of answers to others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import openai
import pytest

from app.serve.conftest import Served
from specchat.engine_process.errors import EngineDied
from specchat.serve.broadcast import MOST_WATCHERS
from specchat.settings.server import Serving
from specchat.traces.trace import read_trace
from support.processes import wait_until
from support.real_server import real_server
from support.scripted_server import HELLO, Script, ScriptedEngine
from support.tiny_models import TinyModels

WATCHED = Serving(watch="on")
ASKED: Any = {"model": "any", "messages": [{"role": "user", "content": "hi"}]}

Lines = Iterator[Any]


@contextmanager
def watching(url: str, **headers: str) -> Iterator[Lines]:
    """The lines that a watcher gets, from the first one after the state on."""
    with (
        httpx2.Client(base_url=url, timeout=600, trust_env=False, headers=headers) as client,
        client.stream("GET", "/v1/watch") as response,
    ):
        assert response.status_code == 200
        lines = read(response.iter_lines())
        assert next(lines)["type"] == "watch"
        yield lines


def read(lines: Iterator[str]) -> Lines:
    """The JSON of a stream, which shows every 15 seconds that it lives. Ten minutes are enough for all of it."""
    pings = 0
    for line in lines:
        pings += line.startswith(": ping")
        assert pings < 40
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


def through(lines: Lines, kind: str) -> list[Any]:
    """The lines through the first one of this type."""
    found = []
    for line in lines:
        found.append(line)
        if line["type"] == kind:
            break
    return found


@contextmanager
def asking(url: str) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0, timeout=600) as client:
        yield client


def ask(url: str, **change: Any) -> Any:
    with asking(url) as client:
        return client.chat.completions.create(**ASKED | change)


def refusal(url: str, **headers: str) -> tuple[int, Any]:
    answer = httpx2.get(f"{url}/v1/watch", headers=headers, timeout=600, trust_env=False)
    return answer.status_code, answer.json()["error"]


def test_watching_is_off_unless_the_server_allows_it(served: Served) -> None:
    url = served()
    status, error = refusal(url)
    assert (status, error["code"]) == (403, "watching_off")
    assert "specchat serve --watch on" in error["message"]
    assert "/v1/watch" in httpx2.get(f"{url}/openapi.json", timeout=600, trust_env=False).json()["paths"]


def test_a_watcher_needs_a_key_as_everybody_does(served: Served) -> None:
    url = served(Serving(watch="on", api_key=("secret",)))
    assert refusal(url)[0] == 401
    with watching(url, Authorization="Bearer secret"):
        pass


def test_each_answer_to_anyone_is_sent_round_by_round_with_its_number(served: Served) -> None:
    url = served(WATCHED)
    with watching(url) as lines, asking(url) as client:
        client.chat.completions.create(**ASKED)
        answers = [through(lines, "end")]
        list(client.chat.completions.create(**ASKED, stream=True))
        answers.append(through(lines, "end"))
        ask(url, n=2)
        ended = {through(lines, "end")[-1]["request"] for _ in range(2)}
    for number, answer in enumerate(answers, 1):
        assert [line["type"] for line in answer] == ["start", "round", "round", "round", "end"]
        assert {line["request"] for line in answer} == {number}
        assert answer[-1]["text"] == "Hello world"
    assert "/secret" not in json.dumps(answers)
    assert ended == {3, 4}


def test_a_client_that_leaves_ends_its_answer_for_watchers_too(served: Served, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, waits_at=3)]
    url = served(WATCHED)
    with watching(url) as lines, asking(url) as client:
        with client.chat.completions.create(**ASKED, stream=True) as stream:
            next(stream)
        end = through(lines, "end")[-1]
    assert (end["reason"], end["text"]) == ("cancelled", "Hello world")


def test_an_engine_that_dies_is_an_error_and_an_end(served: Served, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, error=EngineDied("it was killed"), fails_at=2)]
    url = served(WATCHED)
    with watching(url) as lines:
        with pytest.raises(openai.APIError, match="it was killed"):
            ask(url)
        *_, error, end = through(lines, "end")
    assert error["message"] == "it was killed"
    assert (end["reason"], end["text"]) == ("error", "Hel")


def test_watchers_beyond_the_limit_are_asked_to_come_back_and_one_that_leaves_makes_room(served: Served) -> None:
    url = served(WATCHED)
    with ExitStack() as stack:
        for _ in range(MOST_WATCHERS):
            stack.enter_context(watching(url))
        status, error = refusal(url)
        assert (status, error["code"]) == (429, "too_many_watchers")
    wait_until(lambda: httpx2.head(f"{url}/v1/watch", trust_env=False).status_code == 200)
    with watching(url):
        assert ask(url).choices[0].message.content == "Hello world"


def test_a_real_answer_is_a_trace_and_a_watcher_does_not_keep_the_server_from_ending(tiny_models: TinyModels) -> None:
    flags = ("-m", tiny_models.target, "-d", tiny_models.draft, "-t", "1", "-c", "512", "-k", "3", "--watch", "on")
    with real_server(*flags) as server, watching(server.url) as lines:
        answer = ask(server.url, max_tokens=12, seed=8)
        answer_lines = through(lines, "end")
        (trace,) = read_trace([json.dumps(line) for line in answer_lines])
        assert trace.text == answer.choices[0].message.content
        assert trace.question == "hi"
        assert sum(event.num_emitted for event in trace.rounds) == 12 == trace.stats["num_tokens"]
        assert any(event.drafted for event in trace.rounds)
        assert "whoever may use this server can see" in server.errors.read_text("utf-8")
        assert server.interrupt() == 130
        with pytest.raises(httpx2.HTTPError):
            list(lines)
