"""One engine's process, from its start to its end."""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

from specchat.serve.protocol import Command, Event, decode_event, encode
from specchat.worker.process import command_of, environment
from specchat.worker.process_log import ProcessLog
from specchat.worker.protocol import Loaded, Quit

_MODULE = "specchat.serve.engine_process"
_LONGEST_LINE = 2**30
_PATIENCE_S = 5.0
"""A process that was asked to end gets so long; the server's side of it gives up a little earlier."""


class EngineLink:
    """A running process; made by `start`.

    `loaded` has what is loaded, or the reason why it is not, once either is known. `ending` is True once the process
    was asked to end.
    """

    def __init__(self, process: Process, log: ProcessLog) -> None:
        self._process = process
        self._log = log
        self.loaded: asyncio.Future[Loaded] = asyncio.get_running_loop().create_future()
        self.ending = False

    @classmethod
    async def start(cls, log_path: Path) -> EngineLink:
        """Starts a process that writes to this log. Raises OSError if that is impossible."""
        log = ProcessLog(log_path)
        with log.open() as file:
            process = await asyncio.create_subprocess_exec(
                *command_of(_MODULE), stdin=PIPE, stdout=PIPE, stderr=file, env=environment(), limit=_LONGEST_LINE
            )
        return cls(process, log)

    @property
    def is_loaded(self) -> bool:
        """Whether the models are loaded."""
        return self.loaded.done() and not self.loaded.cancelled() and self.loaded.exception() is None

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

    def send(self, command: Command) -> None:
        """Sends a command, unless the process is gone: whoever reads the events learns of that."""
        self.send_line(encode(command))

    def send_line(self, line: bytes) -> None:
        """Sends a command that is encoded already."""
        pipe = self._process.stdin
        if pipe is not None and not pipe.is_closing():
            pipe.write(line)

    async def events(self) -> AsyncIterator[Event]:
        """What the process says until it closes its pipe."""
        if self._process.stdout is None:
            return
        while line := await self._process.stdout.readline():
            event = decode_event(line)
            if event is not None:
                yield event

    async def death(self) -> str:
        """Waits for a process from which nothing is heard any more, and says in one line why it ended."""
        await self._wait()
        return self._log.describe_death(self._process.returncode or 0)

    async def end(self) -> None:
        """Ends the process, by force if necessary."""
        self.ending = True
        self.send(Quit())
        await self._wait()

    async def _wait(self) -> None:
        """Waits for the process, which ends when it gets no more commands; kills it after a while."""
        if self._process.stdin is not None:
            self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), _PATIENCE_S)
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            await self._process.wait()
