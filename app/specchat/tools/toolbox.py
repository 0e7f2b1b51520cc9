"""All tools of one chat: the built-in ones and those of the declared servers, called by the names that models use."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from specchat.errors import ToolError
from specchat.tools.builtin import BuiltIns
from specchat.tools.connection import ServerConnection
from specchat.tools.declared import ToolServer
from specchat.tools.tool import Tool, ToolResult
from specchat_engine.prompt.messages import ToolCall


class Toolbox:
    """The tools of one chat. Call it from one thread at a time, except for `stop` and `close`."""

    def __init__(self, servers: Iterable[ToolServer] = (), built_ins: BuiltIns | None = None) -> None:
        self.built_ins = built_ins or BuiltIns()
        self._connections = {server.name: ServerConnection(server) for server in servers}
        self._offered: dict[str, tuple[Tool, ...]] = {}

    @property
    def servers(self) -> tuple[ToolServer, ...]:
        """The servers, connected or not."""
        return tuple(connection.server for connection in self._connections.values())

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools that can be called now."""
        return (*self.built_ins.tools, *(tool for tools in self._offered.values() for tool in tools))

    def connect(self, server: str) -> tuple[str, ...]:
        """Starts a server, whose tools can then be called. Returns one line about each that cannot.

        Raises ToolError if there is no such server, or if it cannot be used.
        """
        connection = self._connections.get(server)
        if connection is None:
            known = ", ".join(self._connections) or "none"
            raise ToolError(f"there is no server {server!r} in config.toml: declared are {known}")
        connected = connection.connect()
        self._offered[server] = connected.tools
        return connected.refused

    def named(self, called: str) -> Tool | None:
        """The tool that models call by this name, None if there is none."""
        return next((tool for tool in self.tools if tool.called == called), None)

    def call(self, call: ToolCall) -> ToolResult:
        """What a call gave; a call that cannot be made gives a result that says so, which the model reads."""
        try:
            tool, arguments = self.named(call.name), _arguments(call)
            if tool is None:
                known = ", ".join(tool.called for tool in self.tools)
                raise ToolError(f"there is no tool {call.name!r}: use {known}")
            if tool.server:
                return self._connections[tool.server].call(tool.name, arguments)
            return self.built_ins.call(tool.name, arguments)
        except ToolError as error:
            return ToolResult.of(str(error), failed=True)

    def stop(self) -> None:
        """Stops the running call."""
        for connection in self._connections.values():
            connection.stop()

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
