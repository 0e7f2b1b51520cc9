"""One message of a stream, as far as it can be understood. What it does not say is None or empty."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from specchat.remote.values import count, counts, listed, mapping, milliseconds, text
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Round


class Token(NamedTuple):
    """A token of an answer, as far as the server sent it."""

    id: int | None = None
    text: str = ""


class CallPiece(NamedTuple):
    """A piece of a call, which has a number in its answer, an id, or both. The first one has the function's name."""

    number: int | None
    name: str = ""
    arguments: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Timings:
    """llama-server's counters so far: emitted, drafted and accepted tokens, and the milliseconds of decoding."""

    num_tokens: int
    decode_ms: float
    num_drafted: int = 0
    num_accepted: int = 0
    prompt_ms: float | None = None
    prompt_tokens: int | None = None
    cached_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Drafting:
    """What a server reports at the end about all of its drafts: the numbers of drafts and of tokens.

    `drafted` and `accepted` have the tokens of each draft, in order; None if they are not reported. Steps without a
    draft are not among them. `longest` is the largest number of tokens in a draft, 0 if it is not reported.
    """

    num_drafts: int
    num_drafted: int
    num_accepted: int
    longest: int = 0
    drafted: tuple[int, ...] | None = None
    accepted: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """What one message adds to an answer.

    `tokens` are its tokens, each with its part of `content` if that is known; else the first one has all of it.
    `completion_tokens` counts those of the answer so far, and `cached_tokens` those of the prompt that were in the
    server's memory. `rounds` and `end` are lines of a trace that specchat sends.
    """

    content: str = ""
    reasoning: str = ""
    tokens: tuple[Token, ...] = ()
    finish: str = ""
    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    completion_tokens: int | None = None
    timings: Timings | None = None
    drafting: Drafting | None = None
    rounds: tuple[Round, ...] = ()
    end: Mapping[str, Any] | None = None
    error: Any = None
    calls: tuple[CallPiece, ...] = ()

    @property
    def adds(self) -> bool:
        """Whether it adds anything to the answer."""
        return bool(self.content or self.reasoning or self.tokens or self.rounds or self.calls)


def read_chunk(message: object) -> Chunk:
    """What a message of a stream says."""
    fields = mapping(message)
    choice = mapping(next(iter(listed(fields.get("choices"))), None))
    delta, usage = mapping(choice.get("delta")), mapping(fields.get("usage"))
    content = text(delta.get("content")) or text(choice.get("text"))
    reasoning = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
    timings = _timings(mapping(fields.get("timings")))
    trace = [mapping(line) for line in listed(mapping(fields.get("specchat")).get("trace"))]
    prompt = counts(fields.get("prompt_token_ids"))
    return Chunk(
        content,
        reasoning,
        _tokens(choice, reasoning + content),
        text(choice.get("finish_reason")),
        prompt_tokens=_first(
            count(usage.get("prompt_tokens")),
            len(prompt) if prompt else None,
            timings.prompt_tokens if timings else None,
        ),
        cached_tokens=_first(
            count(mapping(usage.get("prompt_tokens_details")).get("cached_tokens")),
            timings.cached_tokens if timings else None,
        ),
        completion_tokens=count(usage.get("completion_tokens")),
        timings=timings,
        drafting=_of_vllm(mapping(mapping(fields.get("metrics")).get("speculative_decoding")))
        or _of_sglang(mapping(mapping(fields.get("sglext")).get("spec_tokens_details")))
        or _of_sglang(mapping(choice.get("meta_info"))),
        rounds=tuple(event for line in trace if (event := _round(line)) is not None),
        end=next((line for line in trace if line.get("type") == "end"), None),
        error=fields.get("error") if not listed(fields.get("choices")) else None,
        calls=tuple(_call_piece(mapping(call)) for call in listed(delta.get("tool_calls"))),
    )


def _call_piece(fields: Mapping[str, Any]) -> CallPiece:
    function = mapping(fields.get("function"))
    arguments = function.get("arguments")
    if isinstance(arguments, dict):
        arguments = json.dumps(arguments, ensure_ascii=False)
    return CallPiece(count(fields.get("index")), text(function.get("name")), text(arguments), text(fields.get("id")))


def _tokens(choice: Mapping[str, Any], content: str) -> tuple[Token, ...]:
    """The tokens of a choice; empty if they were not sent."""
    logprobs = mapping(choice.get("logprobs"))
    texts = [text(mapping(entry).get("token")) for entry in listed(logprobs.get("content"))]
    ids = counts(choice.get("token_ids")) or ()
    number = len(ids) or len(texts)
    parts = _divided(content, texts, number)
    return tuple(Token(ids[index] if ids else None, parts[index]) for index in range(number))


def _divided(content: str, texts: list[str], number: int) -> list[str]:
    """The text of each of `number` tokens. They have these texts, but ends and halves of characters are not said.

    Where that does not add up, the first token has all of the text.
    """
    left, parts = content, []
    for token_text in texts if len(texts) == number else ():
        part = token_text if token_text and left.startswith(token_text) else ""
        left = left[len(part) :]
        parts.append(part)
    if left or len(parts) < number:
        return [content, *[""] * (number - 1)] if number else []
    return parts


def _timings(fields: Mapping[str, Any]) -> Timings | None:
    number, spent = count(fields.get("predicted_n")), milliseconds(fields.get("predicted_ms"))
    if number is None or spent is None:
        return None
    read, cached = count(fields.get("prompt_n")), count(fields.get("cache_n"))
    return Timings(
        number,
        spent,
        count(fields.get("draft_n")) or 0,
        count(fields.get("draft_n_accepted")) or 0,
        milliseconds(fields.get("prompt_ms")),
        None if read is None else read + (cached or 0),
        cached,
    )


def _of_vllm(fields: Mapping[str, Any]) -> Drafting | None:
    """vLLM's `metrics.speculative_decoding`, which `specchat serve` has, too."""
    drafts, drafted = count(fields.get("num_spec_steps")), count(fields.get("num_draft_tokens"))
    accepted = count(fields.get("num_accepted_draft_tokens"))
    if drafts is None or drafted is None or accepted is None or accepted > drafted:
        return None
    each, accepted_each = counts(fields.get("per_step_drafted")), counts(fields.get("per_step_accepted"))
    sound = each is not None and accepted_each is not None and len(each) == len(accepted_each)
    sound = sound and all(taken <= made for taken, made in zip(accepted_each or (), each or (), strict=True))
    longest = count(fields.get("num_spec_tokens")) or 0
    return Drafting(drafts, drafted, accepted, longest, each if sound else None, accepted_each if sound else None)


def _of_sglang(fields: Mapping[str, Any]) -> Drafting | None:
    """SGLang's details of a request; older versions name them differently."""
    drafts = count(fields.get("spec_verify_ct"))
    drafted = _first(count(fields.get("spec_num_proposed_drafts")), count(fields.get("spec_draft_token_num")))
    accepted = _first(count(fields.get("spec_num_correct_drafts")), count(fields.get("spec_accept_token_num")))
    if not drafts or drafted is None or accepted is None or accepted > drafted:
        return None
    return Drafting(drafts, drafted, accepted, drafted // drafts if drafted % drafts == 0 else 0)


def _round(line: Mapping[str, Any]) -> Round | None:
    """A round that specchat sent; None if it is not a sound one."""
    if line.get("type") != "round":
        return None
    try:
        return from_json(Round, line)
    except (ValueError, TypeError, KeyError):
        return None


def _first(*numbers: int | None) -> int | None:
    return next((number for number in numbers if number is not None), None)
