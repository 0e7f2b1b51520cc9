"""A shell command with limited output, which can be stopped at any time."""

from __future__ import annotations

import asyncio
import os
import re
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from specchat.terminal.filter import without_sequences

MOST_BYTES = 16 * 1024
"""The bytes that are usually kept of a long output: a quarter from its beginning, the rest from its end."""

_CHUNK = 64 * 1024
_PATIENCE = 1.0
"""Seconds that a stopped command has to end by itself."""

_OVERWRITTEN = re.compile(r"[^\n\r]*\r+(?!\n)(?=[^\n])")


@dataclass(frozen=True, slots=True)
class CommandOutput:
    """What a command printed, without control characters. `code` is its exit code; None if it was stopped."""

    command: str
    text: str
    code: int | None = None

    @property
    def ending(self) -> str:
        """How the command ended: `exit code 1`, `signal 9` or `stopped`."""
        if self.code is None:
            return "stopped"
        return f"exit code {self.code}" if self.code >= 0 else f"signal {-self.code}"

    @property
    def num_lines(self) -> int:
        """The number of lines that were kept."""
        return len(self.text.splitlines())


class ShellCommand:
    """One command of the user's shell, in a session of its own: no keys reach it, and it is stopped as a group."""

    def __init__(self, command: str, folder: Path, limit: int = MOST_BYTES) -> None:
        """At most `limit` bytes of the output are kept."""
        self.command = command
        self._folder = folder
        self._output = _Output(limit)
        self._stop = asyncio.Event()
        self._process: asyncio.subprocess.Process | None = None

    @property
    def text(self) -> str:
        """The output so far, filtered and limited."""
        return self._output.text

    async def run(self) -> CommandOutput:
        """Runs the command to its end, or until it is stopped. Raises OSError if no shell can be started."""
        self._process = await asyncio.create_subprocess_shell(
            self.command,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            cwd=self._folder,
            start_new_session=True,
        )
        ending = asyncio.create_task(self._read(self._process))
        stopping = asyncio.create_task(self._stop.wait())
        try:
            await asyncio.wait({ending, stopping}, return_when=asyncio.FIRST_COMPLETED)
            if not ending.done():
                self._signal(signal.SIGTERM)
                await asyncio.wait({ending}, timeout=_PATIENCE)
        finally:
            if not ending.done():
                self.kill()
                await asyncio.wait({ending}, timeout=_PATIENCE)
                ending.cancel()
            stopping.cancel()
        code = None if self._stop.is_set() else self._process.returncode
        return CommandOutput(self.command, self.text, code)

    def stop(self) -> None:
        """Asks the command to end; a second later it is killed."""
        self._stop.set()

    def kill(self) -> None:
        """Ends the command and what it started at once."""
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)

    async def _read(self, process: asyncio.subprocess.Process) -> None:
        if process.stdout is not None:
            while chunk := await process.stdout.read(_CHUNK):
                self._output.add(chunk)
                await asyncio.sleep(0)  # a command that never pauses leaves time for the screen
        await process.wait()


class _Output:
    """The first and the last bytes of an output of any length."""

    def __init__(self, limit: int) -> None:
        self._most_first = limit // 4
        self._most_last = limit - self._most_first
        self._first = bytearray()
        self._last = bytearray()
        self._dropped = 0

    def add(self, chunk: bytes) -> None:
        room = self._most_first - len(self._first)
        self._first += chunk[:room]
        self._last += chunk[room:] if room > 0 else chunk
        if (extra := len(self._last) - self._most_last) > 0:
            del self._last[:extra]
            self._dropped += extra

    @property
    def text(self) -> str:
        if self._dropped:
            return f"{_readable(self._first)}\n… {self._dropped:,} bytes are left out …\n{_readable(self._last)}"
        return _readable(self._first + self._last)


def _readable(output: bytearray) -> str:
    """The lines as a terminal would show them at the end, without what a progress bar wrote over."""
    return without_sequences(_OVERWRITTEN.sub("", output.decode(errors="replace"))).rstrip()
