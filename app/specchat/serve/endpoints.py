"""The endpoints that answer: a request in one of the APIs' shapes goes in, an answer in the same shape comes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from specchat.engine_process.protocol import Generate
from specchat.serve.answers.chat import ChatShape
from specchat.serve.answers.completions import CompletionShape
from specchat.serve.answers.deltas import AnswerReader
from specchat.serve.answers.messages import MessagesShape
from specchat.serve.answers.responses import ResponsesShape
from specchat.serve.answers.shape import Shape
from specchat.serve.api_errors import ApiError
from specchat.serve.body import read_as, read_body, read_json
from specchat.serve.broadcast import MOST_WATCHERS
from specchat.serve.listener import GRACE, LATE
from specchat.serve.pictures import Pictures
from specchat.serve.requests.base import ModelOffer
from specchat.serve.requests.chat import ChatRequest
from specchat.serve.requests.completions import CompletionRequest
from specchat.serve.requests.messages import CountRequest, MessagesRequest
from specchat.serve.requests.responses import ResponsesRequest
from specchat.serve.runner import Runner, Step

T = TypeVar("T")

PATIENCE = 60.0
"""Seconds in which a client has to send its body, and to take each part of an answer."""

SOON_S = 0.5
"""Most refusals are known this soon. Then a stream begins, also while it waits, so that no proxy takes it for dead."""

PING_S = 5
"""A stream in which nothing else was sent gets a comment this often."""

_RETRY_SECONDS = 5
"""When a watcher should come again if too many watch."""

Answerable = ChatRequest | CompletionRequest | ResponsesRequest | MessagesRequest
PromptLog = Callable[[str, Mapping[str, Any], Shape], None]
"""Gets the path, the request and its answers, once these are complete or have ended early."""


@dataclass(frozen=True, slots=True)
class Endpoints:
    """Answers requests. `log` gets what was said; None keeps it to nobody."""

    runner: Runner
    pictures: Pictures
    offer: ModelOffer
    max_body: int
    log: PromptLog | None = None

    async def chat(self, request: Request) -> Response:
        """POST /v1/chat/completions."""
        return await self._answer(request, ChatRequest)

    async def completions(self, request: Request) -> Response:
        """POST /v1/completions."""
        return await self._answer(request, CompletionRequest)

    async def responses(self, request: Request) -> Response:
        """POST /v1/responses."""
        return await self._answer(request, ResponsesRequest)

    async def messages(self, request: Request) -> Response:
        """POST /v1/messages."""
        return await self._answer(request, MessagesRequest)

    async def count_tokens(self, request: Request) -> Response:
        """POST /v1/messages/count_tokens."""
        body = read_as(CountRequest, await self._body(request))
        counted = await asyncio.to_thread(body.request, self.offer, 1)
        counted = await while_there(request, self.pictures.unpacked(counted))
        tokens = await while_there(request, self.runner.count(counted))
        return JSONResponse({"input_tokens": tokens})

    async def watch(self, request: Request) -> Response:
        """GET /v1/watch: a stream of the traces of all answers. Raises ApiError unless the server allows it: what
        others say is private."""
        broadcast = self.runner.broadcast
        if not broadcast.allowed:
            raise ApiError(403, "watching is off here: `specchat serve --watch on` allows it", code="watching_off")
        if broadcast.is_full:
            message = f"{MOST_WATCHERS} clients are watching, which is the limit"
            raise ApiError(429, message, code="too_many_watchers", retry_after=_RETRY_SECONDS)
        return EventSourceResponse(broadcast.events(), sep="\n", send_timeout=PATIENCE)

    async def _answer(self, request: Request, kind: type[Answerable]) -> Response:
        given = await self._body(request)
        body: Answerable = read_as(kind, given)
        requests = await self._requests(request, body)
        answer_format = self.runner.engine.info.answer_format
        readers = [AnswerReader(each, answer_format, traces=body.sends_rounds) for each in requests]
        shape = shape_of(body, requests, self.offer.model)
        shape.figures = [reader.figures for reader in readers]
        events = self._events(request.url.path, given, shape, self.runner.run(requests, readers))
        if body.stream:
            first = await _begun(request, events)
            return EventSourceResponse(
                _stream(first, events, shape),
                sep="\n",
                send_timeout=PATIENCE,
                ping=PING_S,
                ping_message_factory=_ping,
                shutdown_grace_period=GRACE + LATE,  # by then the answer has ended, or an error ended it
            )
        await while_there(request, _exhaust(events))
        return JSONResponse(shape.whole())

    async def _requests(self, request: Request, body: Answerable) -> tuple[Generate, ...]:
        """The requests to the engine, with the images that were read. Raises ApiError."""
        requests = await asyncio.to_thread(body.requests, self.offer)
        messages = (await while_there(request, self.pictures.unpacked(requests[0]))).messages
        return tuple(replace(each, messages=messages) for each in requests)

    async def _body(self, request: Request) -> dict[str, Any]:
        """The object in a body. Raises ApiError."""
        try:
            async with asyncio.timeout(PATIENCE):
                body = await read_body(request, self.max_body)
        except TimeoutError:
            raise ApiError(408, f"the request was not sent within {PATIENCE:g} seconds", code="timeout") from None
        return await asyncio.to_thread(read_json, body)

    async def _events(
        self, path: str, body: Mapping[str, Any], shape: Shape, steps: AsyncGenerator[Step, None]
    ) -> AsyncGenerator[list[bytes], None]:
        """The events of the answers, delta by delta."""
        try:
            async with aclosing(steps):
                async for number, delta in steps:
                    yield [*await shape.add(number, delta)]
        finally:
            if self.log is not None:
                self.log(path, body, shape)


def shape_of(body: Answerable, requests: Sequence[Generate], model: str) -> Shape:
    """The shape of the answers to a request."""
    match body:
        case ChatRequest():
            return ChatShape(body, requests, model)
        case CompletionRequest():
            return CompletionShape(body, requests, model)
        case ResponsesRequest():
            return ResponsesShape(body, requests, model)
        case MessagesRequest():
            return MessagesShape(body, requests, model)


async def _begun(request: Request, events: AsyncGenerator[list[bytes], None]) -> asyncio.Task[list[bytes]]:
    """The first events of a stream. After `SOON_S` it still waits for them.

    Raises ApiError for a request that is refused by then, and ClientDisconnect.
    """

    async def begin() -> list[bytes]:
        return await anext(events)

    first = asyncio.create_task(begin())
    try:
        await while_there(request, asyncio.wait((first,), timeout=SOON_S))
        if first.done():
            first.result()
    except BaseException:
        first.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await first
        raise
    return first


def _ping() -> ServerSentEvent:
    """A comment, which clients skip."""
    return ServerSentEvent(comment="waiting", sep="\n")


async def _stream(
    first: asyncio.Task[list[bytes]], deltas: AsyncGenerator[list[bytes], None], shape: Shape
) -> AsyncGenerator[bytes, None]:
    """All events of a stream; an error becomes the last one."""
    async with aclosing(deltas):
        try:
            for event in await first:
                yield event
            async for events in deltas:
                for event in events:
                    yield event
            for event in shape.end():
                yield event
        except ApiError as error:
            yield shape.failed(error)


async def _exhaust(deltas: AsyncGenerator[list[bytes], None]) -> None:
    async for _ in deltas:
        pass


async def while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Returns what the work returns. Ends it and raises ClientDisconnect if the client goes first."""
    working, gone = asyncio.create_task(work), asyncio.create_task(_gone(request))
    try:
        await asyncio.wait((working, gone), return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise ClientDisconnect
    finally:
        for task in (working, gone):
            task.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await task


async def _gone(request: Request) -> None:
    """Returns when the client has closed its connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
