from __future__ import annotations

import math
from base64 import b64decode
from pathlib import Path
from typing import Any

import pytest

from app.remote.samples import QUESTION, server
from specchat.engine_process.images import UNSEEN
from specchat.engine_process.protocol import ChatMessage
from specchat.remote.requests import RequestBody, request_body
from specchat.remote.servers import EngineKind
from specchat_engine.errors import SettingError
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.sampling.noise import turn_seed
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings
from support.vision_models import png


def body(
    engine: EngineKind, *, messages: tuple[ChatMessage, ...] = QUESTION, prediction: str = "", **changes: Any
) -> RequestBody:
    sampling = changes.pop("sampling", {})
    settings = Settings(sampling=SamplingParams(**sampling), **changes)
    steered = {"drafters": ("hybrid", "none")} if engine is EngineKind.SPECCHAT else {}
    return request_body(server(engine, **steered), messages, settings, seed=7, prediction=prediction)


def shown(path: Path, *, seed: int) -> str:
    path.write_bytes(png(seed))
    return str(path)


def test_images_are_parts_before_the_text_and_a_lost_one_is_said(tmp_path: Path) -> None:
    gone = ChatMessage("user", "Look", images=(shown(tmp_path / "a.png", seed=1), str(tmp_path / "gone.png")))
    last = ChatMessage("user", "And?", images=(shown(tmp_path / "b.png", seed=2), shown(tmp_path / "c.png", seed=3)))
    first, said, asked = body(EngineKind.OPENAI, messages=(gone, ChatMessage("assistant", "Yes"), last)).json[
        "messages"
    ]
    assert [part["type"] for part in asked["content"]] == ["image_url", "image_url", "text"]
    for part, seed in zip(asked["content"], (2, 3), strict=False):
        kind, _, data = part["image_url"]["url"].partition(";base64,")
        assert kind == "data:image/png"
        assert b64decode(data) == png(seed)
    assert asked["content"][-1]["text"] == "And?"
    assert [part.get("text") for part in first["content"]] == [None, f"{UNSEEN}\nLook"]
    assert said == {"role": "assistant", "content": "Yes"}
    with pytest.raises(SettingError, match=r"the image gone\.png cannot be read"):
        body(EngineKind.OPENAI, messages=(gone,))


@pytest.mark.parametrize("engine", EngineKind)
def test_every_engine_is_asked_for_a_stream_with_usage(engine: EngineKind) -> None:
    sent = body(engine).json
    assert sent["model"] == "guide"
    assert sent["messages"] == [{"role": "user", "content": "What is speculative decoding?"}]
    assert sent["stream"] is True
    assert sent["stream_options"]["include_usage"] is True
    assert sent["temperature"] == 0.8


def test_each_engine_is_asked_to_report_its_rounds_in_its_own_words() -> None:
    assert body(EngineKind.LLAMA_SERVER).json["timings_per_token"] is True
    assert body(EngineKind.VLLM).json["return_token_ids"] is True
    assert body(EngineKind.SGLANG).json["return_spec_tokens_details"] is True
    assert body(EngineKind.SGLANG).json["stream_options"]["continuous_usage_stats"] is True
    assert body(EngineKind.SPECCHAT).json["specchat"] == {"rounds": True}
    plain = {"model", "messages", "stream", "stream_options", "seed", "temperature", "top_p"}
    assert body(EngineKind.OPENAI).json.keys() == plain | {"frequency_penalty", "presence_penalty"}


def test_parameters_have_the_names_of_the_engine() -> None:
    sampling = {"repeat_penalty": 1.2, "top_k": 0, "min_p": 0.1, "typical_p": 0.9, "penalty_last_n": -1}
    llama = body(EngineKind.LLAMA_SERVER, sampling=sampling).json
    assert (llama["repeat_penalty"], llama["top_k"], llama["typical_p"]) == (1.2, 0, 0.9)
    assert llama["repeat_last_n"] == 1024  # it knows no -1
    vllm = body(EngineKind.VLLM, sampling=sampling)
    assert (vllm.json["repetition_penalty"], vllm.json["top_k"], vllm.json["min_p"]) == (1.2, -1, 0.1)
    assert vllm.untaken == ("typical-p",)


def test_what_an_engine_does_not_take_is_named_only_if_it_would_do_something() -> None:
    neutral = {"top_k": 0, "min_p": 0.0}
    assert body(EngineKind.OPENAI, sampling=neutral).untaken == ()
    assert body(EngineKind.OPENAI, sampling=neutral | {"repeat_penalty": 1.1}, k=0).untaken == ("repeat-penalty", "k")
    assert body(EngineKind.VLLM, k=4, verifier="typical", tree=0).untaken == ("k", "verifier", "tree")


def test_a_vllm_that_drafts_gets_neither_min_p_nor_a_token_bias() -> None:
    sampling = SamplingParams(min_p=0.1, logit_bias=((5, 1.5),))
    vllm = request_body(server(EngineKind.VLLM, speculates=True), QUESTION, Settings(sampling=sampling), seed=7)
    assert not {"min_p", "logit_bias"} & vllm.json.keys()
    assert vllm.json["top_k"] == 40
    assert vllm.untaken == ("min-p", "the token bias")


def test_a_request_to_specchat_says_how_to_draft() -> None:
    sent = body(EngineKind.SPECCHAT, k=4, drafter="none", verifier="block")
    assert (sent.json["k"], sent.json["drafter"], sent.json["verifier"]) == (4, "none", "block")
    assert sent.json["thought_verifier"] == "same", "the server may have been started with another one"
    assert sent.untaken == ()


def test_a_limit_for_thoughts_and_a_prediction_are_sent_to_those_who_know_them() -> None:
    assert body(EngineKind.SPECCHAT, think_tokens=9).json["think_tokens"] == 9
    assert body(EngineKind.LLAMA_SERVER, think_tokens=9).untaken == ("think-tokens",)
    assert body(EngineKind.LLAMA_SERVER).untaken == ()
    assert body(EngineKind.SPECCHAT, prediction="abc").json["prediction"] == {"type": "content", "content": "abc"}
    assert body(EngineKind.VLLM, prediction="abc").untaken == ("the prediction",)


def test_grammars_go_where_the_engine_has_them() -> None:
    grammar = {"grammar": 'root ::= "a"'}
    assert body(EngineKind.LLAMA_SERVER, sampling=grammar).json["grammar"] == 'root ::= "a"'
    assert body(EngineKind.VLLM, sampling=grammar).json["structured_outputs"] == {"grammar": 'root ::= "a"'}
    assert body(EngineKind.SGLANG, sampling=grammar).json["ebnf"] == 'root ::= "a"'
    assert "the grammar" in body(EngineKind.OPENAI, sampling=grammar).untaken


def test_schemas_and_patterns_go_to_engines_as_such() -> None:
    schema = {"sampling": {"grammar": '{"type": "integer"}'}}
    pattern = {"sampling": {"grammar": "/a+/"}}
    integer = {"type": "integer"}
    assert body(EngineKind.LLAMA_SERVER, **schema).json["json_schema"] == integer
    assert body(EngineKind.VLLM, **schema).json["structured_outputs"] == {"json": integer}
    for engine in (EngineKind.SGLANG, EngineKind.OPENAI, EngineKind.SPECCHAT):
        assert body(engine, **schema).json["response_format"]["json_schema"]["schema"] == integer
    assert body(EngineKind.VLLM, **pattern).json["structured_outputs"] == {"regex": "a+"}
    assert body(EngineKind.SGLANG, **pattern).json["regex"] == "a+"
    assert "the grammar" in body(EngineKind.LLAMA_SERVER, **pattern).untaken


def test_a_banned_token_is_banned_in_every_dialect() -> None:
    sampling = {"logit_bias": ((5, -math.inf), (7, 1.5))}
    assert body(EngineKind.LLAMA_SERVER, sampling=sampling).json["logit_bias"] == [[5, False], [7, 1.5]]
    assert body(EngineKind.VLLM, sampling=sampling).json["logit_bias"] == {"5": -100.0, "7": 1.5}


def test_limits_are_sent_only_if_there_are_some() -> None:
    assert "max_tokens" not in body(EngineKind.VLLM).json
    limited = body(EngineKind.VLLM, max_tokens=5, stop=("x",)).json
    assert (limited["max_tokens"], limited["stop"]) == (5, ["x"])


@pytest.mark.parametrize("engine", [EngineKind.LLAMA_SERVER, EngineKind.VLLM, EngineKind.SGLANG, EngineKind.SPECCHAT])
def test_how_much_to_think_goes_to_the_chat_template_of_a_server(engine: EngineKind) -> None:
    off, high = body(engine, thinking="off"), body(engine, thinking="high")
    assert off.json["chat_template_kwargs"] == {"enable_thinking": False, "thinking": False}
    assert "reasoning_effort" not in off.json
    assert high.json["chat_template_kwargs"] == {"enable_thinking": True, "thinking": True, "reasoning_effort": "high"}
    assert high.json["reasoning_effort"] == "high"
    assert (off.untaken, high.untaken) == ((), ())
    assert not body(engine).json.keys() & {"chat_template_kwargs", "reasoning_effort"}


def test_openais_api_knows_effort_alone() -> None:
    assert body(EngineKind.OPENAI, thinking="low").json["reasoning_effort"] == "low"
    assert body(EngineKind.OPENAI, thinking="off").json["reasoning_effort"] == "none"
    on = body(EngineKind.OPENAI, thinking="on")
    assert not on.json.keys() & {"chat_template_kwargs", "reasoning_effort"}
    assert "thinking on" in on.untaken


def test_earlier_answers_go_without_their_thoughts() -> None:
    said = (*QUESTION, ChatMessage("assistant", "<think>\nHm\n</think>\n\nA method."), *QUESTION)
    assert body(EngineKind.VLLM, messages=said).json["messages"][1] == {"role": "assistant", "content": "A method."}


def test_another_attempt_has_another_seed_that_every_server_can_hold() -> None:
    seeds = {turn_seed(7, turn, attempt) for turn in range(3) for attempt in range(3)}
    assert len(seeds) == 9
    for seed in seeds:
        sent = request_body(server(), QUESTION, Settings(), seed=seed).json["seed"]
        assert 0 <= sent < 2**31


def test_calls_and_results_of_a_conversation_keep_their_form() -> None:
    call = ToolCall("now", '{"zone": "UTC"}', "call00000")
    said = (
        ChatMessage("assistant", "<think>x</think>\n", (call,)),
        ChatMessage("tool", "noon", (), "call00000", "now"),
    )
    _, answer, result = request_body(server(), (*QUESTION, *said), Settings(), seed=7).json["messages"][-3:]
    assert answer["content"] == ""
    assert answer["tool_calls"] == [call.to_json()]
    assert result == {"role": "tool", "content": "noon", "tool_call_id": "call00000", "name": "now"}
