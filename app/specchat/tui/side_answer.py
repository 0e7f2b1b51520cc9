"""Recorded answers: what they add to the statistics, and questions to the engine about them. The conversation stays."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from threading import Event

from specchat.chat.session import Question
from specchat.engine_process.engine_client import EngineClient
from specchat.engine_process.protocol import ChatMessage, Ended, Inspect, Inspected, Offer, Started, TaskFailed
from specchat.errors import SpecchatError
from specchat.stats.advice import Answered
from specchat.stats.curve import costs_of
from specchat.stats.summary import Summary
from specchat.store.images import hashes_in, image_files
from specchat.store.store import Store
from specchat.store.turns import Counters
from specchat.traces.trace import Trace
from specchat_engine.analysis.inspection import Inspection
from specchat_engine.codec import from_json
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import end_line, settings_in
from specchat_engine.prompt.messages import Message
from specchat_engine.settings import AUTO, Settings

MAX_TURNS = 300
"""The statistics cover this many answers of a session or a pair, the newest ones."""


class SideAnswer:
    """One answer beside the conversation. `run` blocks; the rest may be called from another thread while it runs."""

    def __init__(self, client: EngineClient, question: Question, settings: Settings) -> None:
        self._client = client
        self._question = question
        self._settings = settings
        self.num_tokens = 0
        """Tokens so far."""
        self._stopping = Event()

    @property
    def stopped(self) -> bool:
        """Whether it was stopped."""
        return self._stopping.is_set()

    def run(self) -> Trace | None:
        """Makes the answer and returns its trace; None if it was stopped. Raises SpecchatError if the engine fails."""
        start, rounds = None, []
        if self.stopped:
            return None
        events = self._client.generate(self._question.request(self._settings))
        if self._stopping.is_set():  # between the line before and this one
            self._client.cancel()
        for event in events:
            if isinstance(event, Started):
                start = event.line
            elif isinstance(event, Round):
                rounds.append(event)
                self.num_tokens += event.num_emitted
            elif isinstance(event, TaskFailed):
                raise SpecchatError(event.message)
            elif isinstance(event, Ended) and start is not None and not self.stopped:
                return Trace(start, tuple(rounds), end_line(event.reason, event.text, event.stats, event.costs))
        return None

    def stop(self) -> None:
        """Stops the answer, now or as soon as it begins."""
        self._stopping.set()
        self._client.cancel()


def question_of(trace: Trace, attempt: int) -> Question:
    """The question that led to this answer, with the same noise."""
    start = trace.start
    prefix, tools = tuple(start.get("prefix", ())), offered_in(trace)
    return Question(asked_in(trace), start["turn"], attempt, start["seed"], prefix, tools=tools)


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
    client: EngineClient,
    messages: Sequence[ChatMessage],
    trace: Trace,
    settings: Settings,
) -> Callable[[int, tuple[int, ...]], Awaitable[Inspection | str]]:
    """A function that inspects output positions of an answer to these messages; it returns a text if it cannot.

    `settings` are those in force; those with which the answer began come before them.
    """
    tokens, tools = trace.tokens, offered_in(trace)
    own = settings_in(trace.start, settings).plain
    seed = int(trace.start.get("seed", 0))

    def ask(position: int, asked: tuple[int, ...]) -> Inspection | str:
        power = trace.sharpness_at(position)
        for event in client.inspect(Inspect(tuple(messages), tokens, position, own, seed, asked, power, tools)):
            if isinstance(event, Inspected):
                return event.inspection
            if isinstance(event, TaskFailed):
                return event.message
        return "the engine did not answer: try again"

    async def look(position: int, asked: tuple[int, ...]) -> Inspection | str:
        return await asyncio.to_thread(ask, position, asked)

    return look


def asked_in(trace: Trace) -> tuple[ChatMessage, ...]:
    """The messages that were answered, including the system prompt."""
    return tuple(
        replace(ChatMessage.of(Message.of(values)), images=image_files(hashes_in(values)))
        for values in trace.start["messages"]
    )


def offered_in(trace: Trace) -> Offer:
    """What the answer was allowed to call."""
    return Offer(tuple(trace.start.get("tools", ())))


def answered(trace: Trace, settings: Settings, drafters: tuple[str, ...], k_max: int, num_earlier: int = 0) -> Answered:
    """A recorded answer as the advisor takes it, with the settings at its end."""
    machine = trace.start.get("machine") or {}
    return Answered(
        rounds=tuple(trace.rounds),
        settings=settings,
        costs=costs_in(trace),
        stats=trace.stats,
        prompt="\n".join(str(message["content"]) for message in trace.start.get("messages", ())),
        drafters=drafters,
        k_max=k_max,
        threads=int(machine.get("threads") or 0),
        cores=os.cpu_count() or 0,
        earlier_turns=num_earlier,
    )


def costs_in(trace: Trace) -> MeasuredCosts:
    """The costs of passes, as the engine measured them at the end of the turn, else estimated from the rounds."""
    try:
        return from_json(MeasuredCosts, trace.end["costs"]) if trace.end else costs_of(trace.rounds)
    except (KeyError, TypeError, ValueError):
        return costs_of(trace.rounds)


@dataclass(frozen=True, slots=True)
class Stored:
    """Statistics from the store: sums over the session and over the pair, and every pair's counters."""

    session: Summary
    pair: Summary
    pairs: dict[str, Counters]


def stored_of(store: Store, session: int, pair: str) -> Stored:
    """The statistics of a session, of a pair, and of every pair on this machine."""
    return Stored(_summed(store, session=session), _summed(store, pair=pair), store.pairs())


def _summed(store: Store, pair: str | None = None, session: int | None = None) -> Summary:
    total = Summary()
    for turn in store.turns(pair, session, MAX_TURNS):
        stored = (store.stats(turn.message) or {}).get("summary")
        try:
            total += from_json(Summary, stored) if stored else Summary()
        except ValueError:
            continue  # stored by another version
    return total
