"""A connection to an MCP server as the application sees it: a process that is started on demand, asked, and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from specchat.errors import ToolError
from specchat.pipes import command_of
from specchat.tools.declared import ToolServer
from specchat.tools.protocol import (
    LONGEST_MESSAGE,
    Broke,
    Called,
    CallTool,
    Command,
    Connect,
    ConnectedTools,
    Event,
    decode_event,
    encode,
)
from specchat.tools.tool import ToolResult

CONNECTING: Final = 60.0
"""Seconds in which a server has to start. Some are downloaded when they are started for the first time."""

_PATIENCE: Final = 3.0


class ServerConnection:
    """One server. One thread at a time may call `connect` and `call`; any thread may call `stop` and `close`.

    The process that talks to the server and the server itself are killed if they take too long or are stopped. The next
    call starts them again.
    """

    def __init__(self, server: ToolServer, *, connecting: float = CONNECTING) -> None:
        self.server = server
        self._connecting = connecting
        self._process: subprocess.Popen[bytes] | None = None
        self._why = ""

    def connect(self) -> ConnectedTools:
        """Starts the server and returns its tools. Raises ToolError if that fails or takes too long."""
        self._kill()
        self._why = ""
        try:
            self._process = subprocess.Popen(
                command_of("specchat.tools"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                process_group=0,
            )
        except OSError as error:
            raise ToolError(f"the server {self.server.name} cannot be started: {error}") from None
        event = self._asked(self._process, Connect(self.server), self._connecting)
        if not isinstance(event, ConnectedTools):
            raise self._failure(event, self._connecting)
        return event

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Calls a tool by its own name. Raises ToolError if the server fails, takes too long or is stopped."""
        if self._process is None or self._process.poll() is not None:
            self.connect()
        assert self._process is not None
        event = self._asked(self._process, CallTool(name, arguments), self.server.timeout)
        if not isinstance(event, Called):
            raise self._failure(event, self.server.timeout)
        return event.result

    def stop(self) -> None:
        """Stops the running call, and the server with it."""
        self._why = "was stopped"
        _kill(self._process)

    def close(self) -> None:
        """Ends the server, by force if it does not end by itself."""
        process = self._process
        if process is None:
            return
        with suppress(OSError):
            assert process.stdin is not None
            process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(_PATIENCE)
        self._kill()

    def _asked(self, process: subprocess.Popen[bytes], command: Command, seconds: float) -> Event | None:
        """The event that answers a command; None if the process ended or was killed."""
        assert process.stdin is not None
        assert process.stdout is not None
        late = threading.Timer(seconds, self._is_late, [process])
        late.daemon = True
        late.start()
        try:
            process.stdin.write(encode(command))
            process.stdin.flush()
            return decode_event(process.stdout.readline(2 * LONGEST_MESSAGE))
        except (OSError, ValueError):  # of a pipe that nobody reads, or that was closed meanwhile
            return None
        finally:
            late.cancel()

    def _is_late(self, process: subprocess.Popen[bytes]) -> None:
        self._why = "took too long"
        _kill(process)

    def _failure(self, event: Event | None, seconds: float) -> ToolError:
        """What to say of a server that did not do what it was asked, which is ended."""
        self._kill()
        name = self.server.name
        if isinstance(event, Broke):
            return ToolError(f"the server {name} failed: {event.message}")
        if self._why == "took too long":
            return ToolError(f"the server {name} took more than {seconds:g} seconds and was ended")
        return ToolError(f"the server {name} {self._why or 'ended'}")

    def _kill(self) -> None:
        process, self._process = self._process, None
        _kill(process)
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                with suppress(OSError):
                    if pipe is not None:
                        pipe.close()
            process.wait()


def _kill(process: subprocess.Popen[bytes] | None) -> None:
    """Kills a process and all that it has started."""
    if process is not None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
