"""HTTP: requests and streams of one server, with time-outs and errors in one line.

The connections live in an event loop in a thread of its own, so that any thread can end a stream at any time, also
while the server is silent. Ending a stream closes its connection, which is how a server learns that nobody listens.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import httpx2

from specchat import __version__
from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.refusals import Closed, Unreachable, refusal
from specchat.terminal.filter import clean_line

Answer = TypeVar("Answer")

_END = "[DONE]"
_MOST_WAITING = 4096
"""Messages of a stream that wait to be read before the server has to wait."""

_CLOSING_S = 10.0
"""Seconds that requests have to end when everything is closed."""

_LARGEST = 2**20
"""The most bytes of an answer that is not a stream."""

_LARGEST_MESSAGE, _LARGEST_WATCHED = 2**20, 2**24
"""The most bytes of a message of a stream: of an answer, and of a server that is watched and sends conversations."""


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds. A server may be silent for as long as it reads a long prompt."""

    connect: float = 10.0
    ask: float = 10.0
    silence: float = 600.0


class Transport:
    """Talks to one server. Close it at the end."""

    def __init__(self, address: Address, timeouts: Timeouts | None = None) -> None:
        self._address = address
        self._timeouts = timeouts or Timeouts()
        self._loop = asyncio.new_event_loop()
        self._client: httpx2.AsyncClient | None = None
        self._closed = False
        self._closing = threading.Lock()
        self._thread = threading.Thread(target=self._loop.run_forever, name="remote", daemon=True)
        self._thread.start()

    def questions(self) -> Questions:
        """A few questions that belong together."""
        return Questions(lambda url: self._run(self._ask(url)))

    def stream(self, url: str, body: Mapping[str, Any]) -> Stream:
        """A request whose answer is a stream of messages."""
        return Stream(lambda put: self._run(self._read_stream("POST", url, dict(body), _LARGEST_MESSAGE, put)))

    def watch(self, url: str) -> Stream:
        """A stream of what a server reports about itself."""
        return Stream(lambda put: self._run(self._read_stream("GET", url, None, _LARGEST_WATCHED, put)))

    def close(self) -> None:
        """Ends all requests and the thread. Later ones raise RemoteError."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        with suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(_CLOSING_S)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _run(self, work: Coroutine[Any, Any, Answer]) -> Future[Answer]:
        with self._closing:
            if self._closed:
                work.close()
                raise Closed
            return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _end(self) -> None:
        running = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        if self._client is not None:
            await self._client.aclose()

    async def _ask(self, url: str) -> Any:
        waits = httpx2.Timeout(self._timeouts.ask, connect=self._timeouts.connect)
        try:
            async with self._opened().stream("GET", url, timeout=waits) as response:
                content = await _limited(response)
                if response.is_error:
                    raise refusal(self._address, response.status_code, content, response.headers)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._broken(error, self._timeouts.ask) from None
        try:
            return json.loads(content)
        except (ValueError, RecursionError):
            return content.decode("utf-8", "replace")

    async def _read_stream(
        self, method: str, url: str, body: dict[str, Any] | None, largest: int, put: Callable[[Any], bool]
    ) -> None:
        waits = httpx2.Timeout(self._timeouts.silence, connect=self._timeouts.connect)
        try:
            async with self._opened().stream(method, url, json=body, timeout=waits) as response:
                if response.is_error:
                    content = await _limited(response)
                    raise refusal(self._address, response.status_code, content, response.headers)
                async for event in httpx2.EventSource(response, largest):
                    if event.data.strip() == _END:
                        return
                    message = _object(event.data)
                    while not put(message):
                        await asyncio.sleep(0.01)
        except httpx2.SSEError as error:
            raise RemoteError(f"{self._address.host} sends no stream: {clean_line(str(error))}") from None
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise self._broken(error, self._timeouts.silence) from None

    def _opened(self) -> httpx2.AsyncClient:
        """The client, made in the loop. Proxies are for other machines."""
        if self._client is None:
            key = {"Authorization": f"Bearer {self._address.key}"} if self._address.key else {}
            headers = {"User-Agent": f"specchat/{__version__}", **key}
            self._client = httpx2.AsyncClient(headers=headers, trust_env=not self._address.is_loopback)
        return self._client

    def _broken(self, error: Exception, silence: float) -> RemoteError:
        host = clean_line(self._address.host)
        if isinstance(error, httpx2.RemoteProtocolError):
            return RemoteError(f"the connection to {host} broke: it ended too early, or does not speak HTTP")
        why = self._address.without_key(clean_line(str(error))) or type(error).__name__
        if isinstance(error, httpx2.InvalidURL | httpx2.UnsupportedProtocol):
            return RemoteError(f"{host} is not an address of a server: use one such as http://localhost:8000")
        if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
            return Unreachable(f"{host} cannot be reached: {why}; is the server running?")
        if isinstance(error, httpx2.TimeoutException):
            return RemoteError(f"{host} sent nothing for {silence:g} s")
        return RemoteError(f"the connection to {host} broke: {why}")


class Questions:
    """Asks one URL after the other. `close` ends the question that is asked and all that follow, from any thread."""

    def __init__(self, start: Callable[[str], Future[Any]]) -> None:
        self._start = start
        self._asked: Future[Any] | None = None
        self._closed = False

    def ask(self, url: str) -> Any:
        """What a GET of this URL gives: JSON, or a text. Raises RemoteError, also if it was closed."""
        request = self._asked = self._start(url)
        if self._closed:
            request.cancel()
        try:
            return request.result()
        except CancelledError:
            raise Closed from None

    def close(self) -> None:
        """Closes the connection. Whoever asks gets RemoteError."""
        self._closed = True
        if (request := self._asked) is not None:
            request.cancel()


class Stream:
    """The messages of one answer, in order. Reading raises RemoteError where it breaks off; `close` ends it at once."""

    def __init__(self, start: Callable[[Callable[[Any], bool]], Future[None]]) -> None:
        self._arrived: SimpleQueue[tuple[Any, ...]] = SimpleQueue()
        self._task = start(self._put)
        self._task.add_done_callback(lambda _: self._arrived.put(()))

    def __iter__(self) -> Iterator[Any]:
        while message := self._arrived.get():
            yield message[0]
        if not self._task.cancelled():
            self._task.result()

    def close(self) -> None:
        """Closes the connection. Whoever reads gets what has arrived, and no more."""
        self._task.cancel()

    def _put(self, message: Any) -> bool:
        if self._arrived.qsize() >= _MOST_WAITING:
            return False
        self._arrived.put((message,))
        return True


def _object(text: str) -> Any:
    """A message of a stream. Raises RemoteError for what is no JSON."""
    try:
        return json.loads(text, parse_constant=_no_number)
    except (ValueError, RecursionError):
        raise RemoteError("the server sent a message that is no JSON") from None


def _no_number(name: str) -> Any:
    raise ValueError(name)


async def _limited(response: httpx2.Response) -> bytes:
    """The body. Raises RemoteError if it is too large."""
    content = bytearray()
    async for part in response.aiter_bytes():
        content += part
        if len(content) > _LARGEST:
            raise RemoteError(f"the server sent more than {_LARGEST >> 20} MiB where a short answer was expected")
    return bytes(content)
