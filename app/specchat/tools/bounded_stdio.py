"""MCP over the standard streams of a command, with a limit for each message.

The SDK's own transport collects a line of any length, and starts the server in a session of its own. Here the server
stays in the process group of this process, so that both can be killed together.
"""

from __future__ import annotations

import asyncio
from asyncio.subprocess import PIPE, Process
from collections import deque
from contextlib import AsyncExitStack, suppress
from types import TracebackType

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.shared.message import SessionMessage
from mcp_types import jsonrpc_message_adapter

from specchat.terminal.filter import clean_line, without_sequences
from specchat.tools.declared import ToolServer
from specchat.tools.protocol import LONGEST_MESSAGE

_PATIENCE = 1.0
_LAST_WORDS = 400

Incoming = SessionMessage | Exception
Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class StdioTransport:
    """Starts a server's command, and ends it on leaving. Raises OSError if it cannot be started."""

    def __init__(self, server: ToolServer, *, longest: int = LONGEST_MESSAGE) -> None:
        self._server = server
        self._longest = longest
        self._stack = AsyncExitStack()
        self._errors: deque[str] = deque(maxlen=2)
        self._broken = ""

    @property
    def last_words(self) -> str:
        """Why the connection broke, as far as it is known: a message that is too long, or what the server printed."""
        return self._broken or clean_line(without_sequences(" ".join(self._errors)))[-_LAST_WORDS:]

    async def __aenter__(self) -> Streams:
        """The messages of the server, and where those to it go."""
        command, *arguments = self._server.command
        environment = get_default_environment() | dict(self._server.environment)
        process = await asyncio.create_subprocess_exec(
            command, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, limit=self._longest
        )
        incoming, received = anyio.create_memory_object_stream[Incoming](0)
        sent, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
        tasks = [
            asyncio.create_task(self._read(process, incoming)),
            asyncio.create_task(self._write(process, outgoing)),
            asyncio.create_task(self._listen(process)),
        ]
        for stream in (incoming, received, sent, outgoing):
            self._stack.push_async_callback(stream.aclose)
        self._stack.push_async_callback(_end, process, tasks)
        return received, sent

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Closes the server's input, and kills it if it does not end then."""
        await self._stack.aclose()

    async def _read(self, process: Process, incoming: MemoryObjectSendStream[Incoming]) -> None:
        """Passes the server's messages on until it ends; the connection then breaks."""
        assert process.stdout is not None
        async with incoming:
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                try:
                    while line := await process.stdout.readline():
                        message = _message(line)
                        if isinstance(message, Exception) and b'"jsonrpc"' in line:
                            self._broken = "it sent a message that cannot be read"
                            return
                        await incoming.send(message)
                except ValueError:  # of a line beyond the limit
                    self._broken = f"it sent a message of more than {self._longest // 2**20} MiB"

    async def _write(self, process: Process, outgoing: MemoryObjectReceiveStream[SessionMessage]) -> None:
        assert process.stdin is not None
        async with outgoing:
            with suppress(ConnectionError):
                async for message in outgoing:
                    text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    process.stdin.write(text.encode() + b"\n")
                    await process.stdin.drain()

    async def _listen(self, process: Process) -> None:
        """Keeps the last of what the server prints as errors."""
        assert process.stderr is not None
        while printed := await process.stderr.read(4096):
            self._errors.append(printed.decode(errors="replace"))


def _message(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line, by_name=False))
    except ValueError as error:
        return error


async def _end(process: Process, tasks: list[asyncio.Task[None]]) -> None:
    if process.stdin is not None:
        process.stdin.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(process.wait(), _PATIENCE)
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
