"""What one HTTP request asks of the engine, whatever API it came by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from specchat.serve.protocol import Request
from specchat.serve.requests.base import SEEDS
from specchat.serve.requests.tools import Tools
from specchat_engine.prompt.thinking import SWITCHES

Kind = Literal["chat", "completion", "json", "tools"]
"""What sort of text is asked for; drafts succeed to different degrees."""


@dataclass(frozen=True, slots=True)
class Asked:
    """The answers that are asked for, one request to the engine for each.

    A stream may end with the `usage`, with `rounds` tells every round, and with `progress` the figures at each chunk.
    """

    requests: tuple[Request, ...]
    kind: Kind
    stream: bool = False
    usage: bool = False
    rounds: bool = False
    progress: bool = False

    @property
    def predicts(self) -> bool:
        """Whether the client sent a text that the answer probably repeats."""
        return any(request.prediction for request in self.requests)


def repeated(request: Request, count: int) -> tuple[Request, ...]:
    """The same request several times, each with a seed of its own."""
    return tuple(replace(request, seed=(request.seed + number) % SEEDS) for number in range(count))


def kind_of(*, grammar: str, tools: Tools) -> Kind:
    """The kind of a chat's answer."""
    return "json" if grammar else "tools" if tools.functions else "chat"


def template_options(
    given: Mapping[str, Any] | None, effort: str | None, usual: Mapping[str, Any], thinks: bool | None = None
) -> dict[str, Any]:
    """The further variables of the chat template: those of the request, and how much to think.

    The `usual` ones for thinking hold if the request has none of its own.
    """
    asked = ({"reasoning_effort": effort} if effort else {}) | dict(given or {})
    if thinks is not None:
        asked = {"enable_thinking": thinks} | asked
    return asked if asked.keys() & SWITCHES else {**usual, **asked}
