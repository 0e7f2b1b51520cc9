"""OpenAI's older API over a scripted engine: raw texts are continued."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from specchat.engine_process.protocol import LikelyToken, Position
from specchat.serve.answers.completions import CompletionShape
from specchat.serve.answers.deltas import Delta
from specchat.serve.requests.completions import CompletionRequest
from support.scripted_server import Script, ScriptedEngine, made_round, offer

PATH = "/v1/completions"


def test_a_text_is_continued(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    answer = client.completions.create(model="m", prompt="Once", max_tokens=8, stop=["\n"])
    assert answer.choices[0].text == "Hello world"
    assert answer.choices[0].finish_reason == "stop"
    (request,) = engine.asked
    assert (request.prompt, request.messages) == ("Once", ())
    assert (request.settings.max_tokens, request.settings.stop) == (8, ("\n",))


def test_several_prompts_are_answered_in_their_order(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    answer = client.completions.create(model="m", prompt=["a", "b"], n=2, seed=5)
    assert [choice.index for choice in answer.choices] == [0, 1, 2, 3]
    assert {(request.prompt, request.seed) for request in engine.asked} == {("a", 5), ("a", 6), ("b", 5), ("b", 6)}
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (6, 20)


@pytest.mark.parametrize(("prompt", "read"), [([1, 2, 3], [(1, 2, 3)]), ([[1], [2, 3]], [(1,), (2, 3)])])
def test_token_ids_are_prompts_too(client: openai.OpenAI, engine: ScriptedEngine, prompt: Any, read: Any) -> None:
    client.completions.create(model="m", prompt=prompt)
    assert sorted(request.prompt for request in engine.asked) == read


@pytest.mark.parametrize("prompt", [[], [[]], [-1], [[1], [-2]], [2**40], [1, "a"], {"a": 1}, [True, "x"]])
def test_what_is_no_prompt_is_refused(http: httpx2.Client, prompt: Any) -> None:
    answer = http.post(PATH, json={"prompt": prompt})
    assert answer.status_code == 400
    assert answer.json()["error"]["param"].startswith("prompt")


def test_a_suffix_and_too_many_answers_are_refused(http: httpx2.Client) -> None:
    assert http.post(PATH, json={"prompt": "a", "suffix": "b"}).json()["error"]["param"] == "suffix"
    assert http.post(PATH, json={"prompt": ["a"] * 5, "n": 4}).status_code == 400


def test_an_echo_begins_with_the_prompt(client: openai.OpenAI) -> None:
    assert client.completions.create(model="m", prompt="Once ", echo=True).choices[0].text == "Once Hello world"
    assert client.completions.create(model="m", prompt=[1, 2, 3], echo=True).choices[0].text == "<a><b><c>Hello world"
    stream = client.completions.create(model="m", prompt="Once ", echo=True, stream=True)
    assert [chunk.choices[0].text for chunk in stream] == ["Once ", "Hel", "lo world", ""]


def test_log_probabilities_of_a_prompt_score_it_as_evaluations_expect_also_in_a_stream(client: openai.OpenAI) -> None:
    asked: Any = {"model": "m", "prompt": "<a><b><c>", "echo": True, "logprobs": 2, "max_tokens": 1}
    logprobs = client.completions.create(**asked).choices[0].logprobs
    assert logprobs is not None
    assert logprobs.tokens == ["<a>", "<b>", "<c>", "Hel", "lo", " wor", "ld", ""]  # the last one ends the answer
    assert logprobs.token_logprobs == [None, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5, -0.5]
    assert logprobs.text_offset == [0, 3, 6, 9, 12, 14, 18, 20]
    assert logprobs.top_logprobs is not None
    assert logprobs.top_logprobs[0] is None
    assert logprobs.top_logprobs[3] == {"Hel": -0.5, "other0": -2.0, "other1": -3.0}
    parts = [chunk.choices[0].logprobs for chunk in client.completions.create(**asked, stream=True)]
    for name in ("tokens", "token_logprobs", "text_offset", "top_logprobs"):
        assert [value for part in parts if part for value in getattr(part, name)] == getattr(logprobs, name)


def test_a_length_of_zero_scores_the_prompt_alone(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.scripts = [Script([made_round(0, (), "x")], reason="length")]
    asked = {"prompt": "<a><b><c>", "echo": True, "logprobs": 0, "max_tokens": 0}
    answer = http.post(PATH, json=asked).json()
    assert answer["choices"][0]["text"] == "<a><b><c>"
    assert answer["choices"][0]["logprobs"]["tokens"] == ["<a>", "<b>", "<c>"]
    assert answer["usage"]["completion_tokens"] == 0
    assert engine.asked[0].settings.max_tokens == 1
    stream = http.post(PATH, json=asked | {"stream": True}).text
    lines = [json.loads(line[6:]) for line in stream.splitlines() if line.startswith("data: {")]
    assert "".join(line["choices"][0]["text"] for line in lines) == "<a><b><c>"


def test_a_stream_ends_with_the_usage(client: openai.OpenAI) -> None:
    usual: Any = {"include_usage": True}
    *_, last = client.completions.create(model="m", prompt="a", stream=True, stream_options=usual)
    assert last.choices == []
    assert last.usage is not None
    assert last.usage.total_tokens == 8


def test_alternatives_that_are_no_text_stay_apart() -> None:
    halves = (LikelyToken(3, "\ufffd", -1.0, (0xE2, 0x80)), LikelyToken(4, "\ufffd", -2.0, (0xE2, 0x81)))
    position = Position(LikelyToken(3, "", -1.0, (0xE2, 0x80)), halves)
    request = CompletionRequest(prompt="a", logprobs=2)
    shape = CompletionShape(request, request.requests(offer()), "m")
    shape.answers[0].add(Delta(positions=(position,)))
    assert shape.choice(0, shape.answers[0])["logprobs"]["top_logprobs"] == [
        {"bytes:\\xe2\\x80": -1.0, "bytes:\\xe2\\x81": -2.0}
    ]
