"""How the inspector asks the engine: about an old answer too, with the settings that it was made with."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from specchat.chat.client import EngineClient
from specchat.traces.trace import Trace
from specchat.tui.spots import output_tokens
from specchat.worker.protocol import ChatMessage, Inspected, WorkerFailed
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.codec import from_json
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings


def looker(
    client: EngineClient,
    messages: Sequence[ChatMessage],
    trace: Trace,
    settings: Settings,
) -> Callable[[int, tuple[int, ...]], Awaitable[Inspection | str]]:
    """Looks at output positions of an answer to these messages; a text says why that is not possible now.

    `settings` are those in force; the answer's own sampling takes the place of theirs.
    """
    tokens = output_tokens(trace)
    own = replace(settings, sampling=sampling_of(trace.start.get("params", {}), settings.sampling))
    seed = int(trace.start.get("seed", 0))

    def ask(position: int, asked: tuple[int, ...]) -> Inspection | str:
        for event in client.inspect(messages, tokens, position, asked=asked, seed=seed, settings=own):
            if isinstance(event, Inspected):
                return event.inspection
            if isinstance(event, WorkerFailed):
                return event.message
        return "the engine did not answer: try again"

    async def look(position: int, asked: tuple[int, ...]) -> Inspection | str:
        return await asyncio.to_thread(ask, position, asked)

    return look


def asked_in(trace: Trace) -> tuple[ChatMessage, ...]:
    """The messages that a recorded answer was given to, its system prompt included."""
    return tuple(ChatMessage(message["role"], message["content"]) for message in trace.start["messages"])


def sampling_of(params: Mapping[str, Any], otherwise: SamplingParams) -> SamplingParams:
    """The sampling parameters of a trace's first line."""
    try:
        return from_json(SamplingParams, params)
    except (TypeError, ValueError):
        return otherwise
