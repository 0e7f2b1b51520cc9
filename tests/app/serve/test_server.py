"""The real server on tiny models, and real clients of it."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anthropic
import httpx2
import openai
import pytest
from prometheus_client.parser import text_string_to_metric_families

from support.processes import is_gone, wait_until
from support.real_server import RealServer, real_server
from support.tiny_models import SPECIALS, TinyModels, byte_vocabulary

PLACES = 3
FIRST_BYTE = len(SPECIALS)
"""The token of the byte 0."""

# Passes of another width may differ in the last bits of their logits. Without truncation that hardly ever shows.
SAMPLING = ("--temp", "0.8", "--top-k", "0", "--top-p", "1", "--min-p", "0")
ASKED: Any = {"model": "any", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 24, "seed": 8}
ENDLESS: Any = {"model": "any", "messages": ASKED["messages"], "temperature": 0}
"""Greedy, these models never end an answer: only a full context does."""


@pytest.fixture(scope="module")
def server(tiny_models: TinyModels, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        flags = ("-m", tiny_models.target, "-d", tiny_models.draft, "-t", "1", "-c", "16384", "-k", "3")
        with real_server(*flags, *SAMPLING, "-np", str(PLACES), "--queue", "4") as started:
            yield started


@pytest.fixture
def client(server: RealServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0, timeout=600) as client:
        yield client


@pytest.fixture
def http(server: RealServer) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=server.url, timeout=600, trust_env=False) as client:
        yield client


def text_of(client: openai.OpenAI, **change: Any) -> str:
    return client.chat.completions.create(**ASKED | change).choices[0].message.content or ""


def gauge(http: httpx2.Client, name: str) -> float:
    families = text_string_to_metric_families(http.get("/metrics").text)
    return next(family.samples[0].value for family in families if family.name == f"specchat:{name}")


def test_a_seed_gives_the_same_text_whatever_drafts_and_however_it_is_sent(
    server: RealServer, client: openai.OpenAI
) -> None:
    expected = text_of(client)
    assert expected
    for change in ({"k": 0}, {"k": 8}, {"drafter": "lookup"}, {"drafter": "none"}):
        assert text_of(client, extra_body=change) == expected, change
    streamed = client.chat.completions.create(**ASKED, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in streamed) == expected
    newer = client.responses.create(model="any", input="hello", max_output_tokens=24, extra_body={"seed": 8})
    assert (newer.output_text, newer.status) == (expected, "incomplete")
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as claude:
        asked: Any = {"model": "any", "max_tokens": 24, "messages": ASKED["messages"], "extra_body": {"seed": 8}}
        answer = claude.messages.create(**asked)
        assert getattr(answer.content[0], "text", "") == expected
        assert answer.stop_reason == "max_tokens"
        with claude.messages.stream(**asked) as stream:
            assert "".join(stream.text_stream) == expected
        counted = claude.messages.count_tokens(model="any", messages=ASKED["messages"])
        assert counted.input_tokens == answer.usage.input_tokens + (answer.usage.cache_read_input_tokens or 0)
    several = client.chat.completions.create(**ASKED, n=3).choices
    assert [choice.message.content for choice in several] == [expected, *(text_of(client, seed=8 + i) for i in (1, 2))]
    assert several[1].message.content != expected


def test_the_rounds_of_a_trace_add_up_to_the_text_and_the_figures(http: httpx2.Client) -> None:
    asked = ASKED | {"specchat": {"rounds": True}, "k": 3, "drafter": "model"}
    answer = http.post("/v1/chat/completions", json=asked).json()
    trace = answer["specchat"]["trace"]
    rounds = [line for line in trace if line["type"] == "round"]
    accepted = [[token for token in line["drafted"] if token["outcome"] == "accepted"] for line in rounds]
    text = "".join(
        "".join(token["text"] for token in tokens) + line["token"]["text"]
        for tokens, line in zip(accepted, rounds, strict=True)
    )
    assert text == answer["choices"][0]["message"]["content"]
    assert answer["timings"]["draft_n"] == sum(len(line["drafted"]) for line in rounds) > 0
    assert answer["timings"]["draft_n_accepted"] == sum(map(len, accepted)) > 0
    assert answer["usage"]["completion_tokens"] == 24 == answer["timings"]["predicted_n"]
    steps = answer["metrics"]["speculative_decoding"]
    assert steps["per_step_drafted"] == [len(line["drafted"]) for line in rounds if line["drafted"]]
    assert "/" not in json.dumps([trace[0]["target"], trace[0]["draft"]]), "no paths"


def test_an_echo_scores_a_prompt_as_an_answer_is_scored(client: openai.OpenAI) -> None:
    ids = [ord(letter) + FIRST_BYTE for letter in "Once upon"]
    scored = client.completions.create(model="any", prompt=ids, max_tokens=0, echo=True, logprobs=0).choices[0]
    assert scored.text == "Once upon"
    assert scored.logprobs is not None
    assert scored.logprobs.token_logprobs is not None
    assert scored.logprobs.token_logprobs[0] is None
    forced = client.completions.create(
        model="any", prompt=ids[:-1], max_tokens=1, logprobs=0, logit_bias={str(ids[-1]): 1000}
    ).choices[0]
    assert forced.text == "n"
    assert forced.logprobs is not None
    assert forced.logprobs.token_logprobs == pytest.approx(scored.logprobs.token_logprobs[-1:], abs=0.01)


def test_an_echo_scores_one_token_more_also_if_that_ends_the_answer(client: openai.OpenAI) -> None:
    ids = [ord(letter) + FIRST_BYTE for letter in "Once upon"]
    for extra in ({}, {"logit_bias": {str(SPECIALS.index("<|im_end|>")): 1000}}):
        asked: Any = {"model": "any", "prompt": ids, "max_tokens": 1, "seed": 7, "echo": True, "logprobs": 1} | extra
        logprobs = client.completions.create(**asked).choices[0].logprobs
        chunks = [chunk.choices[0].logprobs for chunk in client.completions.create(**asked, stream=True)]
        assert logprobs is not None
        assert logprobs.token_logprobs is not None
        assert len(logprobs.token_logprobs) == len(ids) + 1, "tools that score a prompt leave the last one out"
        assert sum(len(part.token_logprobs or []) for part in chunks if part) == len(ids) + 1


def test_a_tool_that_has_to_be_called_is_called_with_arguments_of_its_schema(
    server: RealServer, client: openai.OpenAI
) -> None:
    schema: Any = {"type": "object", "properties": {"on": {"type": "boolean"}}, "required": ["on"]}
    tools: Any = [{"type": "function", "function": {"name": name, "parameters": schema}} for name in ("lamp", "door")]
    named: Any = {"type": "function", "function": {"name": "door"}}
    # What this model thinks before a call would be long and random, so it may not begin with `<think>`.
    unthinking = {str(number): -1000 for number, token in enumerate(byte_vocabulary()) if token.startswith("h")}
    asked = ASKED | {"max_tokens": 300, "tools": tools, "tool_choice": named, "logit_bias": unthinking}
    choice = client.chat.completions.create(**asked).choices[0]
    assert choice.finish_reason == "tool_calls"
    (call,) = choice.message.tool_calls or []
    assert call.type == "function"
    assert call.function.name == "door"
    assert isinstance(json.loads(call.function.arguments)["on"], bool)
    with client.chat.completions.stream(**asked) as stream:
        (streamed,) = stream.get_final_completion().choices[0].message.tool_calls or []
    assert streamed.function.arguments == call.function.arguments
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as claude:
        used = claude.messages.create(
            model="any",
            max_tokens=300,
            messages=ASKED["messages"],
            tools=[{"name": "door", "input_schema": schema}],
            tool_choice={"type": "tool", "name": "door"},
            extra_body={"logit_bias": unthinking},
        )
        assert used.stop_reason == "tool_use"
        assert [block.type for block in used.content][-1] == "tool_use"


def test_a_prompt_that_the_context_cannot_hold_is_refused(client: openai.OpenAI) -> None:
    long: Any = [{"role": "user", "content": "x" * 40_000}]
    turns: Any = [{"role": role, "content": "y" * 4000} for role in ("user", "assistant") * 3]
    for messages in (long, [*turns, {"role": "user", "content": "and now?"}]):
        with pytest.raises(openai.BadRequestError, match="context") as refused:
            text_of(client, messages=messages)
        assert refused.value.code == "context_length_exceeded"
        with pytest.raises(openai.APIError, match="context"):  # a refusal that takes a while comes in the stream
            list(client.chat.completions.create(**ASKED | {"messages": messages}, stream=True))


def test_clients_that_leave_at_any_moment_leave_nothing_behind(server: RealServer, http: httpx2.Client) -> None:
    address = urlsplit(server.url)
    chosen = random.Random(5)

    def leave(number: int) -> None:
        body = json.dumps(ENDLESS | {"stream": number % 2 == 0, "n": 1 + number % 3}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection((address.hostname, address.port), timeout=600) as connection:
            connection.sendall(head.encode() + body)
            connection.settimeout(chosen.random() * 0.2)
            try:
                while connection.recv(chosen.choice((1, 100, 4000))) and chosen.random() > 0.1:
                    pass
            except TimeoutError:
                pass

    with ThreadPoolExecutor(6) as pool:
        list(pool.map(leave, range(60)))
    wait_until(lambda: gauge(http, "num_requests_running") == gauge(http, "num_requests_waiting") == 0)
    with ThreadPoolExecutor(PLACES) as pool:
        texts = list(pool.map(lambda _: http.post("/v1/chat/completions", json=ASKED).json(), range(PLACES)))
    assert len({text["choices"][0]["message"]["content"] for text in texts}) == 1


def test_a_full_queue_is_reported_and_goes_away(server: RealServer, http: httpx2.Client) -> None:
    hurried = threading.Event()

    def hold(_: int) -> None:
        with (
            httpx2.Client(base_url=server.url, timeout=600, trust_env=False) as own,
            own.stream("POST", "/v1/chat/completions", json=ENDLESS | {"stream": True}) as answer,
        ):
            for _ in answer.iter_raw():
                if hurried.is_set():
                    return

    with ThreadPoolExecutor(PLACES + 4) as pool:
        holding = [pool.submit(hold, number) for number in range(PLACES + 4)]
        try:
            wait_until(lambda: gauge(http, "num_requests_waiting") == 4)
            answer = http.post("/v1/chat/completions", json=ASKED)
            assert answer.status_code == 429
            assert int(answer.headers["retry-after"]) >= 1
        finally:
            hurried.set()
        for one in holding:
            one.result()
    assert http.post("/v1/chat/completions", json=ASKED).status_code == 200


def test_an_engine_that_is_killed_is_an_error_for_who_waits_and_the_next_request_works(
    server: RealServer, client: openai.OpenAI, http: httpx2.Client
) -> None:
    expected = text_of(client)
    (engine,) = server.engines()
    stream = client.chat.completions.create(**ENDLESS, stream=True)
    for _ in range(3):
        next(stream)
    os.kill(engine, signal.SIGKILL)
    with pytest.raises(openai.APIError, match="the engine's process ended"):
        list(stream)
    assert text_of(client) == expected
    assert gauge(http, "engine_deaths") == 1
    assert server.engines() != [engine]


def test_ctrl_c_ends_it_with_its_engine_also_in_the_middle_of_a_stream(tiny_models: TinyModels, tmp_path: Path) -> None:
    with real_server("-m", tiny_models.target, "-t", "1", "-c", "65536", "--log-prompts") as own:
        with openai.OpenAI(base_url=f"{own.url}/v1", api_key="none", max_retries=0) as client:
            text_of(client)
            stream = client.chat.completions.create(**ENDLESS, stream=True)
            next(stream)
            (engine,) = own.engines()
            with ThreadPoolExecutor(1) as pool:
                rest = pool.submit(list, stream)
                assert own.interrupt() == 130
                with pytest.raises(openai.APIError, match="was asked to end"):
                    rest.result(600)
        wait_until(lambda: is_gone(engine))
        assert "Traceback" not in own.errors.read_text("utf-8")
        logged = [json.loads(line) for line in own.output.read_text("utf-8").splitlines()]
        assert logged[0]["request"]["messages"] == ASKED["messages"]
        assert logged[0]["answers"][0]["content"]
