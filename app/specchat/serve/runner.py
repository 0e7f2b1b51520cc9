"""Answers requests: asks the engine, keeps the time limit, counts, and sends every step to watchers."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from specchat.engine_process.errors import RequestFailed
from specchat.engine_process.protocol import Ended, Generate, Scored, Started
from specchat.engine_process.shared_client import AnswerEvent, SharedClient
from specchat.errors import SpecchatError
from specchat.serve.answers.deltas import AnswerReader, Delta
from specchat.serve.api_errors import ApiError, api_error
from specchat.serve.broadcast import Broadcast
from specchat.serve.metrics import Metrics, kind_of
from specchat_engine.decoding.rounds import Round

_COME_BACK_S = 5
"""When a client should ask again that a server had no time for at its end."""

Step = tuple[int, Delta]
"""A delta of one of several answers, after the answer's number."""


class Closing:
    """The time that running answers still have once the server is asked to end."""

    def __init__(self) -> None:
        self._end = math.inf
        self._waiting: set[asyncio.Timeout] = set()

    @property
    def over(self) -> bool:
        """Whether that time is over."""
        return monotonic() >= self._end

    def begin(self, grace: float) -> None:
        """Gives whatever waits this many more seconds."""
        self._end = monotonic() + grace
        for timeout in self._waiting:
            timeout.reschedule(min(timeout.when() or math.inf, asyncio.get_running_loop().time() + grace))

    @asynccontextmanager
    async def limit(self, deadline: float) -> AsyncIterator[None]:
        """Waits until a deadline, by `monotonic`, or the server's end. Raises TimeoutError."""
        left = min(deadline, self._end) - monotonic()
        async with asyncio.timeout(None if left == math.inf else max(left, 0)) as timeout:
            self._waiting.add(timeout)
            try:
                yield
            finally:
                self._waiting.discard(timeout)


@dataclass(frozen=True, slots=True)
class Runner:
    """Answers requests with an engine. `places` answers run at a time.

    `timeout` is in seconds after the prompt was read, 0 for none: to read a long prompt may take a CPU many minutes.
    """

    engine: SharedClient
    metrics: Metrics
    broadcast: Broadcast
    timeout: float
    places: int
    closing: Closing = field(default_factory=Closing)

    def run(self, requests: Sequence[Generate], readers: Sequence[AnswerReader]) -> AsyncGenerator[Step, None]:
        """All answers at once, as they come, each through its reader. Raises ApiError."""
        answers = [self._answer(*each) for each in zip(requests, readers, strict=True)]
        return merged(answers, self.places)

    async def count(self, request: Generate) -> int:
        """The tokens of a request's prompt. Raises ApiError."""
        try:
            return await self.engine.count(request)
        except SpecchatError as error:
            raise api_error(error) from None

    async def _answer(self, request: Generate, reader: AnswerReader) -> AsyncGenerator[Delta, None]:
        began, deadline, first, complete = monotonic(), math.inf, None, False
        kind, number, broke_off = kind_of(request), self.broadcast.next_number(), ("error", "")
        try:
            async with aclosing(self.engine.answer(request)) as events:
                while (event := await self._next(events, deadline)) is not None:
                    if isinstance(event, Ended) and event.reason == "error":
                        raise RequestFailed("the answer ended with an error; the engine's log has more")
                    delta = reader.read(event)
                    if delta is None or isinstance(event, Scored):
                        continue
                    self.broadcast.take(number, event)
                    match event:
                        case Started():
                            deadline = monotonic() + (self.timeout or math.inf)
                            self.metrics.prompt(kind, reader.figures)
                        case Round():
                            self.metrics.round(kind, event)
                            if first is None:
                                first = monotonic() - began
                                self.metrics.first_token(kind, first)
                        case Ended():
                            complete = True
                            seconds, num_tokens = monotonic() - began, reader.figures.num_tokens
                            reason = delta.finish or event.reason
                            self.metrics.ended(kind, reason, seconds=seconds, first=first, num_tokens=num_tokens)
                    yield delta
        except (asyncio.CancelledError, GeneratorExit):
            if not complete:
                self.metrics.left(kind)
            broke_off = ("cancelled", "")
            raise
        except SpecchatError as error:
            failure = api_error(error)
            self.metrics.failed(kind, failure.status)
            broke_off = ("error", str(failure))
            raise failure from None
        finally:
            self.broadcast.break_off(number, *broke_off)

    async def _next(self, events: AsyncGenerator[AnswerEvent, None], deadline: float) -> AnswerEvent | None:
        """The next event; None after the last. Raises ApiError at the deadline, and when the server's time is over."""
        try:
            async with self.closing.limit(deadline):
                return await anext(events, None)
        except TimeoutError:
            if self.closing.over:
                message = "the server was asked to end and had no time left for this answer: ask again"
                raise ApiError(503, message, code="server_closing", retry_after=_COME_BACK_S) from None
            message = f"the answer took longer than {self.timeout:g} seconds: ask for less, or raise --timeout"
            raise ApiError(504, message, code="timeout") from None


async def merged(answers: Sequence[AsyncGenerator[Delta, None]], places: int) -> AsyncGenerator[Step, None]:
    """The deltas of several answers as they come. At most `places` of them are asked for at a time."""
    if len(answers) == 1:
        async with aclosing(answers[0]) as deltas:
            async for delta in deltas:
                yield 0, delta
        return
    steps: asyncio.Queue[Step | BaseException | None] = asyncio.Queue()
    turn = asyncio.Semaphore(places)

    async def forward(number: int, answer: AsyncGenerator[Delta, None]) -> None:
        try:
            async with turn, aclosing(answer) as deltas:
                async for delta in deltas:
                    steps.put_nowait((number, delta))
            steps.put_nowait(None)
        except Exception as error:  # noqa: BLE001 - raised again by whoever reads the steps
            steps.put_nowait(error)

    tasks = [asyncio.create_task(forward(number, answer)) for number, answer in enumerate(answers)]
    try:
        left = len(tasks)
        while left:
            step = await steps.get()
            if isinstance(step, BaseException):
                raise step
            if step is None:
                left -= 1
            else:
                yield step
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
