"""The lines of a trace: one object for the start of an answer, one for each round, one for its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from specchat_engine.allowed import Traced, default_of, traced_names
from specchat_engine.codec import from_json, to_json
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.errors import SettingError
from specchat_engine.settings import Settings

SCHEMA = 1
"""The version of the trace lines of an engine on this machine."""

REMOTE_SCHEMA = 2
"""The version of those of a server, in which ids and `lossless` may be null."""

if TYPE_CHECKING:
    from specchat_engine.prompt.messages import Message, Prompt


def start_line(
    about: Mapping[str, Any],
    settings: Settings,
    *,
    seed: int,
    turn: int,
    prompt_tokens: int,
    prompt: Prompt,
    prefix: Sequence[int],
    prefix_text: str,
    opens_reasoning: bool = False,
) -> dict[str, Any]:
    """The first line. It has the head, further draft models, tools, template variables, a raw prompt and the answer's
    prefix where there are any.

    `about` describes models, versions and machine. `opens_reasoning` says that the prompt ended inside the reasoning.
    """
    line = {
        "type": "start",
        "schema": SCHEMA,
        "target": about.get("target"),
        "draft": about.get("draft"),
        **settings_part(settings),
        "seed": seed,
        "turn": turn,
        "prompt_tokens": prompt_tokens,
        "messages": [_as_object(message) for message in prompt.messages],
        "versions": about.get("versions", {}),
        "machine": about.get("machine", {}),
    }
    more = {name: about[name] for name in ("head", "further") if name in about}
    request: dict[str, Any] = {
        "tools": [*prompt.tools],
        "variables": dict(prompt.variables),
        "prompt": _as_list(prompt.raw),
        "opens_reasoning": opens_reasoning,
    }
    more |= {name: value for name, value in request.items() if value}
    return line | more | ({"prefix": [*prefix], "prefix_text": prefix_text} if prefix else {})


TRACED = traced_names(Settings, Traced.LINE, Traced.LINE_IF_SET)
"""The settings that the first line itself may have."""

_IN_PARAMS = traced_names(Settings, Traced.PARAMS, Traced.PARAMS_IF_SET)
_ALWAYS = traced_names(Settings, Traced.LINE, Traced.PARAMS)


def settings_part(settings: Settings) -> dict[str, Any]:
    """What the first line says about the settings."""
    values = {name: getattr(settings, name) for name in (*TRACED, *_IN_PARAMS)}
    named = {name: value for name, value in values.items() if name in _ALWAYS or value != default_of(Settings, name)}
    params = {name: named.pop(name) for name in _IN_PARAMS if name in named}
    return {**named, "lossless": settings.lossless, "params": params | to_json(settings.sampling)}


def settings_in(line: Mapping[str, Any], otherwise: Settings) -> Settings:
    """The settings with which an answer began, from the first line of its trace; `otherwise` has all that it leaves
    out, and is the result if the line has values that no settings can have."""
    params = line.get("params", {})
    own = {name: line[name] for name in TRACED if name in line}
    try:
        began = from_json(Settings, {**params, **own, "sampling": params})
        values = {name: getattr(began, name) for name in (*TRACED, *_IN_PARAMS)}
        return replace(otherwise, sampling=began.sampling, **values)
    except (TypeError, ValueError, SettingError):
        return otherwise


def _as_object(message: Message) -> dict[str, Any]:
    """A message with the hashes of its images."""
    digests = [image.digest for image in message.images]
    return message.to_json() | ({"images": digests} if digests else {})


def _as_list(raw: str | Sequence[int] | None) -> str | list[int] | None:
    return raw if raw is None or isinstance(raw, str) else [*raw]


def round_line(event: Round) -> dict[str, Any]:
    """The line of a round."""
    return {"type": "round", **to_json(event)}


def end_line(reason: str | None, text: str, stats: Mapping[str, Any], costs: MeasuredCosts) -> dict[str, Any]:
    """The last line; `stats` are those of `TurnStats.to_json`."""
    return {"type": "end", "reason": reason, "text": text, "stats": dict(stats), "costs": to_json(costs)}
