"""The engine's process in a thread of the tests' process, so that they can look into it."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from specchat.engine_process.protocol import Command, Event, LastEvent, Load, Loaded, Quit, decode_event
from specchat.engine_process.server import Server
from specchat.pipes import encode
from specchat_engine import LoadOptions
from support.tiny_models import TinyModels

T = TypeVar("T")


@dataclass
class EngineThread:
    """A server in a thread. Commands reach it through a pipe."""

    commands: Any
    loaded: Loaded | None = None
    said: queue.Queue[tuple[int, Event]] = field(default_factory=queue.Queue)
    rest: bytes = b""
    ended: dict[int, Event] = field(default_factory=dict)

    def send(self, number: int, *commands: Command) -> None:
        """Sends commands with this number, all at once."""
        self.commands.write(b"".join(encode(command, number) for command in commands))

    def write(self, data: Any) -> int:
        """Takes what the server writes, a few bytes at a time."""
        self.rest += bytes(data[:100])
        *lines, self.rest = self.rest.split(b"\n")
        for line in lines:
            number, event = decode_event(line)
            assert event is not None
            self.said.put((number, event))
        return len(data[:100])

    def next(self, kind: type[T], number: int | None = None) -> T:
        """The next event of this kind, and of this request. Others are dropped, but for the last ones of requests."""
        for other, last in self.ended.items():
            if isinstance(last, kind) and number in (None, other):
                del self.ended[other]
                return last
        while True:
            found, event = self.said.get(timeout=600)
            if isinstance(event, kind) and number in (None, found):
                return event
            if isinstance(event, LastEvent):
                self.ended[found] = event


LOADING = 1000

OPTIONS = LoadOptions(threads=1, n_ctx=4096, parallel=2)


@contextmanager
def serving(
    models: TinyModels,
    options: LoadOptions = OPTIONS,
    *,
    serves: bool = True,
    keep_every_s: float = 3600.0,
    quiet_s: float = 0.01,
) -> Iterator[EngineThread]:
    """A server that has loaded a pair, with two places unless the options say otherwise."""
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as commands, os.fdopen(writing, "wb", buffering=0) as pipe:
        process = EngineThread(pipe)
        engine_server = Server(commands, process, keep_every_s, quiet_s)  # type: ignore[arg-type]
        server = threading.Thread(target=engine_server.run)
        server.start()
        process.send(LOADING, Load(str(models.target), str(models.draft), options, serves=serves))
        process.loaded = process.next(Loaded)
        yield process
        process.send(0, Quit())
        server.join(600)
        assert not server.is_alive()
