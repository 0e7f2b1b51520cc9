"""The common part of the shapes of all APIs: how an answer is written in the words of one of them."""

from __future__ import annotations

import asyncio
import json
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from specchat.engine_process.protocol import Generate
from specchat.serve.answers.deltas import AnswerSoFar, Delta
from specchat.serve.answers.figures import AnswerFigures
from specchat.serve.answers.schema_report import schema_report
from specchat.serve.api_errors import ApiError
from specchat.serve.requests.base import Sampling

DONE: Final = b"data: [DONE]\n\n"
"""The last event of a stream of OpenAI's two older APIs."""


def event(data: Mapping[str, Any], name: str = "") -> bytes:
    """One event with JSON, and a name if the API gives events names."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    return f"event: {name}\ndata: {text}\n\n".encode() if name else f"data: {text}\n\n".encode()


class Shape(ABC):
    """Writes the answers to one HTTP request, as events of a stream or as a whole.

    `body` is the request as it came, and `requests` has one to the engine for each answer.

    `add` is called for each delta, in order; then `end`, or `whole`. `figures` has those of each answer, once the first
    delta was added, and `reports` says how it follows its schemas, once the last one was.
    """

    def __init__(self, body: Sampling, requests: Sequence[Generate], model: str, prefix: str) -> None:
        self.body = body
        self.requests = requests
        self.model = model
        self.id = f"{prefix}{secrets.token_hex(12)}"
        self.created = int(time.time())
        self.figures: list[AnswerFigures] = []
        self.answers = [AnswerSoFar() for _ in requests]
        self.reports: list[dict[str, Any]] = [{} for _ in requests]

    async def add(self, number: int, delta: Delta) -> Iterable[bytes]:
        """Adds a delta to an answer; returns the events that send it.

        The check of a complete answer may take seconds, so a thread waits for it.
        """
        answer = self.answers[number]
        answer.add(delta)
        if delta.finish:
            self.reports[number] = await asyncio.to_thread(schema_report, self.requests[number], answer)
        return self.events(number, delta) if self.body.stream else ()

    @abstractmethod
    def events(self, number: int, delta: Delta) -> Iterable[bytes]:
        """The events that send a delta of an answer."""

    @abstractmethod
    def end(self) -> Iterable[bytes]:
        """The events after the last delta."""

    @abstractmethod
    def whole(self) -> dict[str, Any]:
        """The answers in one object."""

    @abstractmethod
    def failed(self, error: ApiError) -> bytes:
        """The event for an error in the middle of a stream."""

    def report(self) -> dict[str, Any]:
        """llama.cpp's and vLLM's figures of an answer; with several answers there are none."""
        if len(self.figures) != 1:
            return {}
        return {"timings": self.figures[0].timings(), "metrics": self.figures[0].metrics()}

    def own(self, lines: Iterable[Mapping[str, Any]], ended: Sequence[int] = ()) -> dict[str, Any]:
        """The lines of the trace, if the client wants them, and of answers that `ended` how they follow their schemas
        and why their prompt was read again."""
        trace = [line for line in lines if line]
        reports = [report for number in ended if (report := self.reports[number])]
        schema = {"schema": reports[0] if len(self.requests) == 1 else reports} if reports else {}
        because = next((each.cache_miss for each in self.figures if each.cache_miss), "") if ended else ""
        own = ({"trace": trace} if trace else {}) | schema | ({"cache_miss": because} if because else {})
        return {"specchat": own} if own else {}
