"""Answers that are made beside the conversation, to be compared: nothing of it changes by them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from specchat.chat.client import EngineClient
from specchat.chat.session import Question
from specchat.errors import SpecchatError
from specchat.traces.trace import Trace
from specchat.worker.protocol import ChatMessage, Ended, Started, WorkerFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import end_line
from specchat_engine.settings import AUTO, Settings


class Recording:
    """One answer. `run` makes it, in a thread that may wait; the rest may be called meanwhile from any other."""

    def __init__(self, client: EngineClient, question: Question, settings: Settings) -> None:
        self._client = client
        self._question = question
        self._settings = settings
        self.num_tokens = 0
        """Tokens so far."""
        self.stopped = False
        """Whether it was stopped."""

    def run(self) -> Trace | None:
        """The answer as it was made; None where it was stopped. Raises SpecchatError where the engine fails."""
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
        """Ends it where it is, now or as soon as it begins."""
        self.stopped = True
        self._client.cancel()


def question_of(trace: Trace, attempt: int) -> Question:
    """What was asked when this answer was made, with the same noise."""
    start = trace.start
    messages = tuple(ChatMessage(message["role"], message["content"]) for message in start["messages"])
    return Question(messages, start["turn"], attempt, start["seed"], tuple(start.get("prefix", ())))


def plain(settings: Settings) -> Settings:
    """The same settings without speculation."""
    return replace(settings, k=0, drafter="none", verifier="coupled")


def speculative(settings: Settings, drafters: Sequence[str]) -> Settings:
    """The same settings with speculation, switched on where it was off; `drafters` are those of the pair.

    It looks up nothing that was said elsewhere: the plain answer to the same question, or the one that is raced.
    """
    drafter = drafters[0] if settings.drafter == "none" else settings.drafter
    return replace(settings, drafter=drafter, k=AUTO if settings.k == 0 else settings.k, lookup="conversation")


def from_reading(trace: Trace) -> Trace:
    """The same on a clock that begins when the prompt has been read, whoever had to read more of it."""
    read = float(trace.stats.get("prompt_ms") or 0.0)
    rounds = trace.rounds
    read = min(read, rounds[0].t_ms) if rounds else 0.0
    return trace._replace(rounds=tuple(replace(event, t_ms=event.t_ms - read) for event in rounds))
