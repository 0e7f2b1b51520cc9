"""What the server and its engine's process tell each other: requests go down the pipe, events come back.

The same lines of JSON as the worker's (`worker.lines`), but every request has a number, and the events of several
requests mix.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from specchat.worker import lines
from specchat.worker.lines import Decoder
from specchat.worker.protocol import Load, Loaded, Loading, Quit
from specchat_engine.decoding.rounds import Round
from specchat_engine.settings import Settings


@dataclass(frozen=True, slots=True)
class Request:
    """What is to be answered: `messages` by the model's chat template, or else the raw `prompt`, a text or token ids.

    A message has the keys of OpenAI's chat API, and `images`, which are PNGs in base 64. `tools` and `options` are
    handed to the template, `options` as further variables (such as `enable_thinking`). The answer probably repeats
    `prediction`. `logprobs` is how many of the likeliest tokens are told at each position beside the emitted one, None
    for none; with `echo` those of the prompt are told too. With `calls` "required" the answer has to call one of the
    tools, or several with `parallel_calls`.
    """

    settings: Settings
    seed: int
    messages: tuple[Mapping[str, Any], ...] = ()
    prompt: str | tuple[int, ...] = ""
    tools: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    prediction: str = ""
    logprobs: int | None = None
    echo: bool = False
    calls: Literal["auto", "required"] = "auto"
    parallel_calls: bool = True


@dataclass(frozen=True, slots=True)
class Ask:
    """Answers a request. Its events have this number; no two requests that run have the same one."""

    number: int
    request: Request


@dataclass(frozen=True, slots=True)
class Leave:
    """Ends the answer to a request before its next round; `Finished` still comes."""

    number: int


@dataclass(frozen=True, slots=True)
class Count:
    """Counts the tokens of a request's prompt, with old turns that an answer would drop. It takes no place."""

    number: int
    request: Request


@dataclass(frozen=True, slots=True)
class LikelyToken:
    """A token with its text and the logarithm of its probability by the model itself, before any sampling stage."""

    id: int
    text: str
    logprob: float


@dataclass(frozen=True, slots=True)
class Position:
    """An emitted token, or one of the prompt, and the likeliest tokens at its position, best first."""

    token: LikelyToken
    likeliest: tuple[LikelyToken, ...] = ()


@dataclass(frozen=True, slots=True)
class Begun:
    """The prompt was read: its tokens, how many of them were in memory already, and the trace's start line.

    `prompt` has its tokens with their log-probabilities, if they were asked for (the first has none: 0.0). `thinking`
    says that it opened the reasoning, so that the answer begins inside of it.
    """

    number: int
    prompt_tokens: int
    cached_tokens: int
    line: Mapping[str, Any]
    prompt: tuple[Position, ...] = ()
    thinking: bool = False


@dataclass(frozen=True, slots=True)
class Made:
    """One round of an answer; `positions` are those of its emitted tokens, if log-probabilities were asked for."""

    number: int
    round: Round
    positions: tuple[Position, ...] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """An answer is complete. `reason` is one of `Session.end_reason`, `stats` the trace's object of that name."""

    number: int
    reason: str
    text: str
    stats: Mapping[str, Any]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Counted:
    """A prompt has so many tokens."""

    number: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Failed:
    """A request failed. `theirs` says that the request is to blame, and not the engine. Without a number all did.

    `too_long` says that the context cannot hold the prompt.
    """

    message: str
    number: int | None = None
    theirs: bool = False
    too_long: bool = False


Command = Load | Ask | Leave | Count | Quit
OfRequest = Begun | Made | Finished | Counted | Failed
Event = Loading | Loaded | OfRequest

encode: Callable[[Command | Event], bytes] = lines.encode
decode_command = Decoder[Command](get_args(Command)).decode
decode_event = Decoder[Event](get_args(Event)).decode


def refused(line: bytes) -> Failed | None:
    """What to answer to a request that cannot be read, None if the line is none."""
    try:
        number = json.loads(line)["number"]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return Failed("the request has a value that the engine cannot read", number) if type(number) is int else None
