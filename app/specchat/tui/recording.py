"""Questions to the engine about recorded answers. The conversation stays as it is."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from specchat.chat.session import Question
from specchat.errors import SpecchatError
from specchat.traces.trace import Trace
from specchat.tui.spots import output_tokens
from specchat.worker.client import WorkerClient
from specchat.worker.protocol import ChatMessage, Ended, Inspected, Started, WorkerFailed
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import end_line
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, Settings


class Recording:
    """One answer beside the conversation. `run` blocks; the rest may be called from another thread meanwhile."""

    def __init__(self, client: WorkerClient, question: Question, settings: Settings) -> None:
        self._client = client
        self._question = question
        self._settings = settings
        self.num_tokens = 0
        """Tokens so far."""
        self.stopped = False
        """Whether it was stopped."""

    def run(self) -> Trace | None:
        """Makes the answer and returns its trace; None if it was stopped. Raises SpecchatError if the engine fails."""
        start, rounds = None, []
        asked = self._question
        if self.stopped:
            return None
        for event in self._client.generate(
            asked.messages,
            turn=asked.turn,
            attempt=asked.attempt,
            seed=asked.seed,
            settings=self._settings,
            prefix=asked.prefix,
        ):
            if isinstance(event, Started):
                start = event.line
            elif isinstance(event, Round):
                rounds.append(event)
                self.num_tokens += event.num_emitted
            elif isinstance(event, WorkerFailed):
                raise SpecchatError(event.message)
            elif isinstance(event, Ended) and start is not None and not self.stopped:
                return Trace(start, tuple(rounds), end_line(event.reason, event.text, event.stats, event.costs))
        return None

    def stop(self) -> None:
        """Stops the answer, now or as soon as it begins."""
        self.stopped = True
        self._client.cancel()


def question_of(trace: Trace, attempt: int) -> Question:
    """The question that led to this answer, with the same noise."""
    start = trace.start
    messages = tuple(ChatMessage(message["role"], message["content"]) for message in start["messages"])
    return Question(messages, start["turn"], attempt, start["seed"], tuple(start.get("prefix", ())))


def plain(settings: Settings) -> Settings:
    """The same settings without speculation."""
    return replace(settings, k=0, drafter="none", verifier="coupled")


def speculative(settings: Settings, drafters: Sequence[str]) -> Settings:
    """The same settings with speculation, switched on if it was off; `drafters` are those of the pair.

    Lookup is limited to the conversation: elsewhere it would find the plain answer to the same question.
    """
    drafter = drafters[0] if settings.drafter == "none" else settings.drafter
    return replace(settings, drafter=drafter, k=AUTO if settings.k == 0 else settings.k, lookup="conversation")


def from_reading(trace: Trace) -> Trace:
    """The same trace on a clock that begins when the prompt has been read."""
    read = float(trace.stats.get("prompt_ms") or 0.0)
    rounds = trace.rounds
    read = min(read, rounds[0].t_ms) if rounds else 0.0
    return trace._replace(rounds=tuple(replace(event, t_ms=event.t_ms - read) for event in rounds))


def looker(
    client: WorkerClient,
    messages: Sequence[ChatMessage],
    trace: Trace,
    settings: Settings,
) -> Callable[[int, tuple[int, ...]], Awaitable[Inspection | str]]:
    """A function that inspects output positions of an answer to these messages; it returns a text if it cannot.

    `settings` are those in force, with the sampling of the answer instead of theirs.
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
    """The messages that were answered, including the system prompt."""
    return tuple(ChatMessage(message["role"], message["content"]) for message in trace.start["messages"])


def sampling_of(params: Mapping[str, Any], otherwise: SamplingParams) -> SamplingParams:
    """The sampling parameters in the first line of a trace."""
    try:
        return from_json(SamplingParams, params)
    except (TypeError, ValueError):
        return otherwise
