"""OpenAI's chat API over a scripted engine, through OpenAI's own client."""

from __future__ import annotations

import json
from typing import Any

import httpx2
import openai
import pytest

from specchat.engine_process.errors import EngineDied
from support.scripted_server import HELLO, Script, ScriptedEngine, made_round

ASKED: Any = {"model": "any", "messages": [{"role": "user", "content": "hi"}]}


def events(response: httpx2.Response) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in response.text.splitlines() if line.startswith("data: ")]
    assert lines[-1] == "[DONE]"
    return [json.loads(line) for line in lines[:-1]]


def test_an_answer_has_its_text_its_usage_and_the_models_name(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(**ASKED)
    choice = answer.choices[0]
    assert (choice.message.content, choice.message.role, choice.finish_reason) == ("Hello world", "assistant", "stop")
    assert answer.model == "target"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens) == (3, 5, 8)


def test_an_answer_reports_what_drafts_did_in_the_words_of_llama_cpp_and_vllm(http: httpx2.Client) -> None:
    answer = http.post("/v1/chat/completions", json=ASKED).json()
    timings = answer["timings"]
    assert (timings["draft_n"], timings["draft_n_accepted"]) == (4, 2)
    assert (timings["prompt_n"], timings["predicted_n"]) == (3, 5)
    assert timings["predicted_ms"] == pytest.approx(18.0)
    assert timings["predicted_per_second"] == pytest.approx(5 / 0.018)
    assert timings["prompt_ms"] == pytest.approx(20.0)
    assert answer["metrics"]["speculative_decoding"] == {
        "mean_acceptance_length": 3.0,
        "draft_acceptance_rate": 0.5,
        "acceptance_histogram": [0, 0, 1, 0, 0],
        "num_spec_steps": 1,
        "num_accepted_draft_tokens": 2,
        "num_draft_tokens": 4,
        "num_spec_tokens": 4,
        "per_step_accepted": [2],
        "per_step_drafted": [4],
    }


def test_what_was_in_memory_is_told_apart_from_what_was_read(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, cached=2)]
    answer = http.post("/v1/chat/completions", json=ASKED).json()
    assert (answer["timings"]["cache_n"], answer["timings"]["prompt_n"]) == (2, 1)
    assert answer["usage"]["prompt_tokens"] == 3
    assert answer["usage"]["prompt_tokens_details"] == {"cached_tokens": 2}


def test_why_a_prompt_was_read_again_comes_at_the_end(http: httpx2.Client, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, cache_miss="another header")]
    assert http.post("/v1/chat/completions", json=ASKED).json()["specchat"] == {"cache_miss": "another header"}
    sent = http.post("/v1/chat/completions", json=ASKED | {"stream": True}).text.split("\n\n")
    assert [event for event in sent if "another header" in event] == sent[-3:-2]
    engine.scripts = [HELLO]
    assert "specchat" not in http.post("/v1/chat/completions", json=ASKED).json()


def test_a_stream_has_a_chunk_for_each_round_and_then_the_usage(client: openai.OpenAI) -> None:
    chunks = list(client.chat.completions.create(**ASKED, stream=True, stream_options={"include_usage": True}))
    texts = [choice.delta.content for chunk in chunks for choice in chunk.choices if choice.delta.content]
    assert texts == ["Hel", "lo world"]
    assert chunks[0].choices[0].delta.role == "assistant"
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 5
    assert chunks[-1].model_extra is not None
    assert chunks[-1].model_extra["timings"]["draft_n"] == 4
    assert chunks[-1].model_extra["metrics"]["speculative_decoding"]["per_step_drafted"] == [4]


def test_a_stream_without_usage_sends_the_figures_with_its_last_chunk_or_with_every_one(http: httpx2.Client) -> None:
    chunks = events(http.post("/v1/chat/completions", json=ASKED | {"stream": True}))
    assert chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert chunks[-1]["timings"]["draft_n_accepted"] == 2
    assert all("timings" not in chunk and "usage" not in chunk for chunk in chunks[:-1])
    chunks = events(http.post("/v1/chat/completions", json=ASKED | {"stream": True, "timings_per_token": True}))
    assert [chunk["timings"]["predicted_n"] for chunk in chunks] == [0, 1, 4, 5, 5]


def test_every_round_is_sent_to_whoever_asks_as_a_trace_without_paths(http: httpx2.Client) -> None:
    asked = ASKED | {"specchat": {"rounds": True}}
    whole = http.post("/v1/chat/completions", json=asked)
    chunks = events(http.post("/v1/chat/completions", json=asked | {"stream": True}))
    streamed = [line for chunk in chunks for line in chunk.get("specchat", {}).get("trace", [])]
    for trace in (whole.json()["specchat"]["trace"], streamed):
        assert [line["type"] for line in trace] == ["start", "round", "round", "round", "end"]
        assert [token["outcome"] for token in trace[2]["drafted"]] == ["accepted", "accepted", "rejected", "discarded"]
    assert "/secret" not in whole.text


def test_several_answers_have_seeds_of_their_own_and_stream_side_by_side(
    client: openai.OpenAI, engine: ScriptedEngine
) -> None:
    engine.scripts = [HELLO, Script([made_round(0, (), "other"), made_round(1, (), "")]), HELLO]
    answer = client.chat.completions.create(**ASKED, n=2, seed=7)
    assert sorted(choice.message.content or "" for choice in answer.choices) == ["Hello world", "other"]
    assert sorted(request.seed for request in engine.asked) == [7, 8]
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (3, 7)
    texts = {0: "", 1: "", 2: ""}
    for chunk in client.chat.completions.create(**ASKED, n=3, stream=True):
        texts[chunk.choices[0].index] += chunk.choices[0].delta.content or ""
    assert texts == dict.fromkeys(range(3), "Hello world")


def test_log_probabilities_go_with_the_text_and_leave_out_the_end(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(**ASKED, logprobs=True, top_logprobs=2)
    logprobs = answer.choices[0].logprobs
    assert logprobs is not None
    assert logprobs.content is not None
    assert [token.token for token in logprobs.content] == ["Hel", "lo", " wor", "ld"]
    assert [token.token for token in logprobs.content[0].top_logprobs] == ["other0", "other1"]
    assert [bytes(token.bytes or ()) for token in logprobs.content] == [b"Hel", b"lo", b" wor", b"ld"]
    chunks = client.chat.completions.create(**ASKED, logprobs=True, top_logprobs=2, stream=True)
    logprobs = [choice.logprobs.content or [] for chunk in chunks for choice in chunk.choices if choice.logprobs]
    assert [token.token for tokens in logprobs for token in tokens] == ["Hel", "lo", " wor", "ld"]


def test_an_answer_reports_how_much_of_its_prediction_was_used(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    engine.scripts = [
        Script([made_round(0, ("a", "b", "c"), "d", wrong=1, source="lookup"), made_round(1, ("x",), "", wrong=1)])
    ]
    predicted: Any = {"type": "content", "content": [{"type": "text", "text": "abc"}]}
    answer = client.chat.completions.create(**ASKED, prediction=predicted)
    assert engine.asked[0].prediction == "abc"
    assert answer.usage is not None
    assert answer.usage.completion_tokens_details is not None
    assert answer.usage.completion_tokens_details.accepted_prediction_tokens == 3
    assert answer.usage.completion_tokens_details.rejected_prediction_tokens == 1


def test_a_limit_is_reported_as_the_reason(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    for reason in ("length", "context"):
        engine.scripts = [Script([made_round(0, (), "cut")], reason=reason)]
        assert client.chat.completions.create(**ASKED).choices[0].finish_reason == "length"


def test_a_stop_string_never_shows_however_it_is_cut_into_rounds(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    cut = Script([made_round(0, ("one", " E"), "N"), made_round(1, (), "D")], reason="stop", text="one ")
    whole = Script([made_round(0, (), "the EN"), made_round(1, (), "TRY"), made_round(2, (), "")])
    for script, expected in ((cut, ["one "]), (whole, ["the ", "ENTRY"])):
        engine.scripts = [script]
        chunks = client.chat.completions.create(**ASKED, stop="END", stream=True)
        assert [chunk.choices[0].delta.content for chunk in chunks if chunk.choices[0].delta.content] == expected
    assert engine.asked[0].settings.stop == ("END",)


def test_an_engine_that_dies_in_a_stream_ends_it_with_an_error(client: openai.OpenAI, engine: ScriptedEngine) -> None:
    engine.scripts = [Script(HELLO.rounds, error=EngineDied("the engine's process ended"), fails_at=2), HELLO]
    stream = client.chat.completions.create(**ASKED, stream=True)
    with pytest.raises(openai.APIError, match="the engine's process ended"):
        list(stream)
    assert client.chat.completions.create(**ASKED).choices[0].message.content == "Hello world"
