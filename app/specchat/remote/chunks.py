"""One message of a stream, as far as it can be understood. What it does not say is None or empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from specchat.remote.values import count, counts, listed, mapping, milliseconds, text
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Round


class Token(NamedTuple):
    """A token of an answer, as far as it was told."""

    id: int | None = None
    text: str = ""


class CallPiece(NamedTuple):
    """A piece of a call, which has a number in its answer. The first one has the name of the function."""

    number: int
    name: str = ""
    arguments: str = ""


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
    """What a server tells at the end about all of its drafts: how many there were, and how many tokens.

    `drafted` and `accepted` have the tokens of each draft, in order; None if they are not told. Steps without a draft
    are not among them. `longest` is the largest number of tokens in a draft, 0 if it is not told.
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
    told = mapping(message)
    choice = mapping(next(iter(listed(told.get("choices"))), None))
    delta, usage = mapping(choice.get("delta")), mapping(told.get("usage"))
    content = text(delta.get("content")) or text(choice.get("text"))
    reasoning = text(delta.get("reasoning_content")) or text(delta.get("reasoning"))
    timings = _timings(mapping(told.get("timings")))
    trace = [mapping(line) for line in listed(mapping(told.get("specchat")).get("trace"))]
    prompt = counts(told.get("prompt_token_ids"))
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
        drafting=_of_vllm(mapping(mapping(told.get("metrics")).get("speculative_decoding")))
        or _of_sglang(mapping(mapping(told.get("sglext")).get("spec_tokens_details")))
        or _of_sglang(mapping(choice.get("meta_info"))),
        rounds=tuple(found for line in trace if (found := _round(line)) is not None),
        end=next((line for line in trace if line.get("type") == "end"), None),
        error=told.get("error") if not listed(told.get("choices")) else None,
        calls=tuple(_call_piece(mapping(call)) for call in listed(delta.get("tool_calls"))),
    )


def _call_piece(told: Mapping[str, Any]) -> CallPiece:
    function = mapping(told.get("function"))
    return CallPiece(count(told.get("index")) or 0, text(function.get("name")), text(function.get("arguments")))


def _tokens(choice: Mapping[str, Any], said: str) -> tuple[Token, ...]:
    """The tokens of a choice; empty if they are not told."""
    logprobs = mapping(choice.get("logprobs"))
    texts = [text(mapping(entry).get("token")) for entry in listed(logprobs.get("content"))]
    ids = counts(choice.get("token_ids")) or ()
    number = len(ids) or len(texts)
    parts = _divided(said, texts, number)
    return tuple(Token(ids[place] if ids else None, parts[place]) for place in range(number))


def _divided(said: str, texts: list[str], number: int) -> list[str]:
    """The text of each of `number` tokens. They have these texts, but ends and halves of characters are not said.

    Where that does not add up, the first token has all of the text.
    """
    left, parts = said, []
    for one in texts if len(texts) == number else ():
        part = one if one and left.startswith(one) else ""
        left = left[len(part) :]
        parts.append(part)
    if left or len(parts) < number:
        return [said, *[""] * (number - 1)] if number else []
    return parts


def _timings(told: Mapping[str, Any]) -> Timings | None:
    number, spent = count(told.get("predicted_n")), milliseconds(told.get("predicted_ms"))
    if number is None or spent is None:
        return None
    read, cached = count(told.get("prompt_n")), count(told.get("cache_n"))
    return Timings(
        number,
        spent,
        count(told.get("draft_n")) or 0,
        count(told.get("draft_n_accepted")) or 0,
        milliseconds(told.get("prompt_ms")),
        None if read is None else read + (cached or 0),
        cached,
    )


def _of_vllm(told: Mapping[str, Any]) -> Drafting | None:
    """vLLM's `metrics.speculative_decoding`, which `specchat serve` has, too."""
    drafts, drafted = count(told.get("num_spec_steps")), count(told.get("num_draft_tokens"))
    accepted = count(told.get("num_accepted_draft_tokens"))
    if drafts is None or drafted is None or accepted is None or accepted > drafted:
        return None
    each, kept = counts(told.get("per_step_drafted")), counts(told.get("per_step_accepted"))
    sound = each is not None and kept is not None and len(each) == len(kept)
    sound = sound and all(taken <= made for taken, made in zip(kept or (), each or (), strict=True))
    longest = count(told.get("num_spec_tokens")) or 0
    return Drafting(drafts, drafted, accepted, longest, each if sound else None, kept if sound else None)


def _of_sglang(told: Mapping[str, Any]) -> Drafting | None:
    """SGLang's details of a request; older versions name them differently."""
    drafts = count(told.get("spec_verify_ct"))
    drafted = _first(count(told.get("spec_num_proposed_drafts")), count(told.get("spec_draft_token_num")))
    accepted = _first(count(told.get("spec_num_correct_drafts")), count(told.get("spec_accept_token_num")))
    if not drafts or drafted is None or accepted is None or accepted > drafted:
        return None
    return Drafting(drafts, drafted, accepted, drafted // drafts if drafted % drafts == 0 else 0)


def _round(line: Mapping[str, Any]) -> Round | None:
    """A round that specchat sent; None if it is no sound one."""
    if line.get("type") != "round":
        return None
    try:
        return from_json(Round, line)
    except (ValueError, TypeError, KeyError):
        return None


def _first(*found: int | None) -> int | None:
    return next((one for one in found if one is not None), None)
