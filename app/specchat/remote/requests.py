"""The body of a request: the conversation and the settings, in the words of each engine."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from specchat.engine_process.images import images_of, last_question, without_images
from specchat.engine_process.protocol import NO_TOOLS, ChatMessage, Offer
from specchat.remote.servers import EngineKind, RemoteServer
from specchat.remote.thoughts import without_thoughts
from specchat.settings.schema import API_SETTINGS
from specchat_engine.grammar.source import syntax_of
from specchat_engine.prompt.messages import Message
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, Settings

_LARGEST_SEED = 2**31 - 1
_USUAL_CONTEXT = 4096
_BIAS = 100.0
"""The largest bias in OpenAI's API. It decides alone, or bans a token."""

_NEUTRAL = SamplingParams(top_k=0, top_p=1.0, min_p=0.0)
"""Values with which a parameter does nothing, so that it does not matter whether a server takes it."""

_ELSEWHERE = ("sampling", "max_tokens", "stop", "stop_tokens", "thinking")
"""Settings that do not concern drafting."""

_LEVELS = ("low", "medium", "high")
"""The levels of thinking that are words for effort, too."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """The body of a request, and the settings in force that this engine does not take."""

    json: dict[str, Any]
    untaken: tuple[str, ...]


def request_body(
    server: RemoteServer,
    messages: Sequence[ChatMessage],
    settings: Settings,
    *,
    seed: int,
    prediction: str = "",
    tools: Offer = NO_TOOLS,
) -> RequestBody:
    """The body for a conversation. `seed` is that of the turn.

    Raises SettingError if an image of the last message of the user cannot be read.
    """
    sampling, untaken = _sampling(server, settings.sampling)
    steering, unsteered = _steering(server, settings)
    thinking = _thinking(server.engine, settings.thinking)
    if settings.thinking == "on" and not thinking:
        untaken.append("thinking on")
    body: dict[str, Any] = {
        "model": server.model.id,
        "messages": _messages(messages),
        "stream": True,
        "stream_options": {"include_usage": True},
        "seed": seed % (_LARGEST_SEED + 1),
        **sampling,
        **steering,
        **thinking,
        **_reporting_options(server.engine),
    }
    if settings.max_tokens:
        body["max_tokens"] = settings.max_tokens
    if tools.functions:
        body["tools"] = [*tools.functions]
    if settings.stop:
        body["stop"] = [*settings.stop]
    if prediction and server.engine in (EngineKind.SPECCHAT, EngineKind.OPENAI):
        body["prediction"] = {"type": "content", "content": prediction}
    elif prediction:
        untaken.append("the prediction")
    return RequestBody(body, (*untaken, *unsteered))


def _messages(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    last = last_question(messages)
    return [_message(message, needed=index == last) for index, message in enumerate(messages)]


def _message(message: ChatMessage, *, needed: bool) -> dict[str, Any]:
    content = without_thoughts(message.content) if message.role == "assistant" else message.content
    sent = Message(message.role, content, message.tool_calls, tool_call_id=message.tool_call_id, name=message.name)
    if not message.images:
        return sent.to_json()
    images = images_of(message, needed=needed)
    content = without_images(content, len(message.images) - len(images))
    urls = (f"data:image/png;base64,{b64encode(image.data).decode()}" for image in images)
    parts = [{"type": "image_url", "image_url": {"url": url}} for url in urls]
    return {**sent.to_json(), "content": [*parts, {"type": "text", "text": content}]}


def _reporting_options(engine: EngineKind) -> dict[str, Any]:
    """The fields that make a server report its rounds, as far as it can."""
    match engine:
        case EngineKind.LLAMA_SERVER:
            return {"timings_per_token": True}
        case EngineKind.VLLM:
            return {"return_token_ids": True, "logprobs": True}
        case EngineKind.SGLANG:
            running = {"include_usage": True, "continuous_usage_stats": True}
            return {"return_spec_tokens_details": True, "stream_options": running}
        case EngineKind.SPECCHAT:
            return {"specchat": {"rounds": True}}
    return {}


def _thinking(engine: EngineKind, level: str) -> dict[str, Any]:
    """What a request says about thinking. A chat template ignores the variables that it does not have."""
    effort = {"reasoning_effort": level} if level in _LEVELS else {}
    if level == AUTO:
        return {}
    if engine is EngineKind.OPENAI:
        return {"reasoning_effort": "none"} if level == "off" else effort
    thinks = level != "off"
    return {"chat_template_kwargs": {"enable_thinking": thinks, "thinking": thinks} | effort, **effort}


def _sampling(server: RemoteServer, sampling: SamplingParams) -> tuple[dict[str, Any], list[str]]:
    engine, names = server.engine, _names(server.engine, SamplingParams)
    is_drafting_vllm = engine is EngineKind.VLLM and server.speculates
    if is_drafting_vllm:  # it refuses a request with min-p or a token bias
        del names["min_p"]
    body: dict[str, Any] = {}
    untaken: list[str] = []
    for each in fields(SamplingParams):
        value = getattr(sampling, each.name)
        if each.name in ("grammar", "logit_bias"):
            continue
        if each.name in names:
            body[names[each.name]] = value
        elif each.name != "penalty_last_n" and value != getattr(_NEUTRAL, each.name):
            untaken.append(each.name.replace("_", "-"))
    if engine in (EngineKind.VLLM, EngineKind.SGLANG) and not body["top_k"]:
        body["top_k"] = -1
    if engine is EngineKind.LLAMA_SERVER and sampling.penalty_last_n < 0:
        body["repeat_last_n"] = server.model.n_ctx or _USUAL_CONTEXT
    if sampling.logit_bias and is_drafting_vllm:
        untaken.append("the token bias")
    elif sampling.logit_bias:
        body["logit_bias"] = _bias(engine, sampling.logit_bias)
    if sampling.grammar:
        constraint = _constraint(engine, sampling.grammar)
        body |= constraint
        untaken += [] if constraint else ["the grammar"]
    return body, untaken


def _constraint(engine: EngineKind, text: str) -> dict[str, Any]:
    """What a request says of a grammar, empty if the engine does not take its syntax."""
    syntax = syntax_of(text)
    match engine, syntax:
        case EngineKind.LLAMA_SERVER, "gbnf":
            return {"grammar": text}
        case EngineKind.LLAMA_SERVER, "json":
            return {"json_schema": json.loads(text)}
        case EngineKind.VLLM, "json":
            return {"structured_outputs": {"json": json.loads(text)}}
        case EngineKind.VLLM, "regex":
            return {"structured_outputs": {"regex": text.strip()[1:-1]}}
        case EngineKind.VLLM, _:
            return {"structured_outputs": {"grammar": text}}
        case EngineKind.SGLANG, "gbnf":
            return {"ebnf": text}
        case EngineKind.SGLANG, "regex":
            return {"regex": text.strip()[1:-1]}
        case _, "json":
            named = {"name": "answer", "schema": json.loads(text)}
            return {"response_format": {"type": "json_schema", "json_schema": named}}
    return {}


def _names(engine: EngineKind, home: type) -> dict[str, str]:
    """What an engine calls the settings of a dataclass that it takes, by their names."""
    column = {EngineKind.SPECCHAT: "specchat", EngineKind.LLAMA_SERVER: "llama_server", EngineKind.OPENAI: "openai"}
    words = {each.name: getattr(names, column.get(engine, "vllm")) for each, names in API_SETTINGS if each.home is home}
    return {name: word for name, word in words.items() if word}


def _bias(engine: EngineKind, pairs: Sequence[tuple[int, float]]) -> Any:
    if engine is EngineKind.LLAMA_SERVER:
        return [[token, False if bias == -math.inf else bias] for token, bias in pairs]
    return {str(token): max(-_BIAS, min(_BIAS, bias)) for token, bias in pairs}


def _steering(server: RemoteServer, settings: Settings) -> tuple[dict[str, Any], list[str]]:
    """What a request says about drafting, and what was changed in vain."""
    usual, taken = Settings(), _names(EngineKind.SPECCHAT, Settings) if server.drafters else {}
    changed = [
        each.name
        for each in fields(Settings)
        if each.name not in (*_ELSEWHERE, *taken, "drafter")
        and getattr(settings, each.name) != getattr(usual, each.name)
    ]
    return {word: getattr(settings, name) for name, word in taken.items()}, [name.replace("_", "-") for name in changed]
