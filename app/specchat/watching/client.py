"""The connection of a watcher. If it breaks, it is made again, with patience."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from specchat.errors import RemoteError
from specchat.remote.address import Address
from specchat.remote.refusals import Refused
from specchat.remote.servers import EngineKind, RemoteServer, recognise
from specchat.remote.transport import Stream, Timeouts, Transport
from specchat.terminal.filter import clean_line
from specchat.watching.events import (
    Away,
    Connected,
    Running,
    ServerEvent,
    TurnedAway,
    Unreadable,
    WatchEvent,
    read_message,
)

_TIMEOUTS = Timeouts(silence=60.0)
"""The server sends a sign of life every 15 seconds."""

_WAITS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0)


class NotWatchable(RemoteError):
    """A server that is no `specchat serve`, or one that is too old."""


@dataclass(frozen=True, slots=True)
class _Open:
    server: RemoteServer
    stream: Stream
    messages: Iterator[Any]
    first: Running


class WatchClient:
    """Watches the server at an address. Its methods may be called from several threads."""

    def __init__(self, address: Address, *, timeouts: Timeouts = _TIMEOUTS, waits: tuple[float, ...] = _WAITS) -> None:
        """`waits` are the seconds before each attempt to connect again. The last one repeats."""
        self.address = address
        self._waits = waits
        self._transport = Transport(address, timeouts)
        self._open: _Open | None = None
        self._closed = threading.Event()

    def connect(self) -> RemoteServer:
        """Connects for the first time. Raises RemoteError if that is impossible, whatever the reason."""
        self._open = self._connected()
        return self._open.server

    def events(self) -> Iterator[WatchEvent]:
        """All events. It waits for each, and ends after `close`, and when the server refuses."""
        failures = 0
        while not self._closed.is_set():
            try:
                connection, self._open = self._open or self._connected(), None
                failures = 0
                yield Connected(connection.server)
                yield from self._read(connection)
                failed = RemoteError(f"the connection to {self._host} broke: the server ended it")
            except RemoteError as error:
                failed = error
            if self._closed.is_set():
                return
            if _is_final(failed):
                yield TurnedAway(str(failed))
                return
            wait = self._waits[min(failures, len(self._waits) - 1)]
            failures += 1
            yield Away(str(failed), wait)
            self._closed.wait(wait)

    def close(self) -> None:
        """Ends the connection, and `events`."""
        self._closed.set()
        self._transport.close()

    @property
    def _host(self) -> str:
        return clean_line(self.address.host)

    def _connected(self) -> _Open:
        """A connection on which the server has reported what runs. Raises RemoteError."""
        server = recognise(self._transport.questions(), self.address)
        if server.engine is not EngineKind.SPECCHAT:
            raise NotWatchable(f"{self._host} is {server.engine}: only `specchat serve` can be watched")
        stream = self._transport.watch(self.address.api("/watch"))
        messages = iter(stream)
        try:
            first = _event_of(next(messages, None))
        except Refused as error:
            if error.status == HTTPStatus.NOT_FOUND:
                raise NotWatchable(f"{self._host} runs a specchat that cannot be watched: update it") from None
            raise
        if not isinstance(first, Running):
            stream.close()
            raise RemoteError(f"{self._host} does not report what runs: check the address")
        return _Open(server, stream, messages, first)

    def _read(self, connection: _Open) -> Iterator[ServerEvent | Unreadable]:
        try:
            yield connection.first
            for message in connection.messages:
                event = _event_of(message)
                if event is not None:
                    yield event
        finally:
            connection.stream.close()


def _event_of(message: object) -> ServerEvent | Unreadable | None:
    try:
        return None if message is None else read_message(message)
    except ValueError as fault:
        return Unreadable(clean_line(str(fault)))


def _is_final(error: RemoteError) -> bool:
    """True if it is useless to try again: the server said no."""
    if isinstance(error, Refused):
        return not error.is_busy and error.status < HTTPStatus.INTERNAL_SERVER_ERROR
    return isinstance(error, NotWatchable)
