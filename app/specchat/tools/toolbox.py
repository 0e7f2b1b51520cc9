"""All tools of one chat: the built-in ones and those of the declared servers, called by the names that models use."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from specchat.errors import ToolError
from specchat.tools.builtin import BuiltIns
from specchat.tools.connection import ServerConnection
from specchat.tools.declared import ToolServer
from specchat.tools.tool import Tool, ToolResult
from specchat_engine.prompt.messages import ToolCall

BUILT_IN: Final = "builtin"
"""The name under which the built-in tools are turned on."""

_HERE: Final = "part of specchat"


class Toolbox:
    """The tools of one chat.

    Call it from one thread at a time, except for `tools`, `summary_lines`, `stop` and `close`.
    """

    def __init__(self, servers: Iterable[ToolServer] = (), built_ins: BuiltIns | None = None) -> None:
        self.built_ins = built_ins or BuiltIns()
        self._connections = {server.name: ServerConnection(server) for server in servers}
        self._running: ServerConnection | None = None
        self._offered: dict[str, tuple[Tool, ...]] = {}
        self._has_built_ins = False

    def use_files(self, files: Collection[Path]) -> None:
        """The files that the built-in tool may read from now on, and no others."""
        self.built_ins = replace(self.built_ins, files=files)

    @property
    def servers(self) -> tuple[ToolServer, ...]:
        """The servers, connected or not."""
        return tuple(connection.server for connection in self._connections.values())

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that can be called now."""
        built_ins = self.built_ins.tools if self._has_built_ins else ()
        return (*built_ins, *(tool for tools in self._offered.values() for tool in tools))

    def turn_on(self, server: str) -> tuple[str, ...]:
        """Starts a server, whose tools can then be called, or offers the built-in tools if the name is BUILT_IN.

        Returns one line about each tool that cannot be called. Raises ToolError if there is no such server, or if it
        cannot be used.
        """
        if server == BUILT_IN:
            self._has_built_ins = True
            return ()
        connection = self._connection(server)
        with self._stoppable(connection):
            connected = connection.connect()
        self._offered = self._offered | {server: connected.tools}
        return connected.refused

    def turn_off(self, server: str) -> None:
        """Ends a server, or offers the built-in tools no longer. Raises ToolError if there is no such server."""
        if server == BUILT_IN:
            self._has_built_ins = False
            return
        self._connection(server).close()
        self._offered = {name: tools for name, tools in self._offered.items() if name != server}

    def summary_lines(self, only: str = "") -> tuple[str, ...]:
        """A line for each server and for the built-in tools, or for the `only` one: what it offers, or off."""
        offers = (offer for offer in self.offers() if only in ("", offer[0]))
        return tuple(f"{name} ({where}): {offered}" for name, where, offered in offers)

    def offers(self) -> tuple[tuple[str, str, str], ...]:
        """The same in parts: the name, where it is, and the names of its tools or "off"."""
        offered = self._offered | ({BUILT_IN: self.built_ins.tools} if self._has_built_ins else {})
        where = {BUILT_IN: _HERE} | {server.name: server.where for server in self.servers}
        names = {name: ", ".join(tool.called for tool in tools) or "no tools" for name, tools in offered.items()}
        return tuple((name, server, names.get(name, "off")) for name, server in where.items())

    def where(self, tool: Tool) -> str:
        """Where the calls of a tool go, as the user reads it."""
        return self._connections[tool.server].server.where if tool.server else _HERE

    def named(self, called: str) -> Tool | None:
        """The tool that models call by this name, None if there is none."""
        return next((tool for tool in self.tools if tool.called == called), None)

    def call(self, call: ToolCall) -> ToolResult:
        """What a call gave; a call that cannot be made gives a result that says so, which the model reads."""
        try:
            tool, arguments = self.named(call.name), _arguments(call)
            if tool is None:
                known = ", ".join(tool.called for tool in self.tools)
                raise ToolError(f"there is no tool {call.name!r}: use {known or 'none'}")
            if tool.server:
                connection = self._connections[tool.server]
                with self._stoppable(connection):
                    return connection.call(tool.name, arguments)
            return self.built_ins.call(tool.name, arguments)
        except ToolError as error:
            return ToolResult.of(str(error), failed=True)

    def _connection(self, server: str) -> ServerConnection:
        connection = self._connections.get(server)
        if connection is None:
            known = ", ".join((BUILT_IN, *self._connections))
            raise ToolError(f"there is no server {server!r} in config.toml: known are {known}")
        return connection

    @contextmanager
    def _stoppable(self, connection: ServerConnection) -> Iterator[None]:
        self._running = connection
        try:
            yield
        finally:
            self._running = None

    def stop(self) -> None:
        """Stops the running call, or the server that starts, and ends that server."""
        running = self._running
        if running is not None:
            running.stop()

    def close(self) -> None:
        """Ends all servers."""
        for connection in self._connections.values():
            connection.close()


def _arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call. Raises ToolError if they are no JSON object."""
    try:
        arguments = json.loads(call.arguments)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise ToolError(f"the arguments of {call.name} are no JSON object: {call.arguments[:100]!r}")
    return arguments
