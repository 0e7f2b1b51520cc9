"""Talks to one MCP server, in a process of its own: what a server does wrong costs this process and nothing else."""

from __future__ import annotations

import asyncio
import json
from typing import BinaryIO

import mcp_types as types
from mcp import Client, MCPError
from mcp.client import Transport

from specchat.pipes import write_all
from specchat.terminal.filter import clean_line
from specchat.tools.bounded_http import http_transport
from specchat.tools.bounded_stdio import StdioTransport
from specchat.tools.declared import ToolServer
from specchat.tools.protocol import Broke, Called, CallTool, Connect, ConnectedTools, Event, decode_command, encode
from specchat.tools.tool import Tool, ToolResult, usable
from specchat_engine.version import __version__

_MOST_TOOLS = 128
_MOST_PAGES = 16


async def serve(commands: BinaryIO, events: BinaryIO) -> None:
    """Connects to the server that the first command names, and then makes the calls, one after the other.

    The last event says why it failed, unless the commands ended.
    """
    connect = decode_command(await asyncio.to_thread(commands.readline))
    if not isinstance(connect, Connect):
        return
    transport = transport_to(connect.server)
    try:
        async with Client(transport, client_info=types.Implementation(name="specchat", version=__version__)) as client:
            _send(events, await _tools(client, connect.server))
            while line := await asyncio.to_thread(commands.readline):
                command = decode_command(line)
                if isinstance(command, CallTool):
                    _send(events, await _call(client, command))
    except (Exception, ExceptionGroup) as error:  # noqa: BLE001 - whatever a server does ends up in one line
        last_words = transport.last_words if isinstance(transport, StdioTransport) else ""
        _send(events, Broke(clean_line(f"{_reason(error)}{f': {last_words}' if last_words else ''}")[:500]))


def transport_to(server: ToolServer) -> Transport:
    """How the server is reached."""
    return http_transport(server.url, server.headers) if server.url else StdioTransport(server)


async def _tools(client: Client, server: ToolServer) -> ConnectedTools:
    offered: list[Tool] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        offered += [
            Tool(listed.name, listed.description or "", listed.input_schema, server.name) for listed in page.tools
        ]
        cursor = page.next_cursor
        if cursor is None or len(offered) >= _MOST_TOOLS:
            break
    tools, refused = usable(offered[:_MOST_TOOLS])
    if len(offered) > _MOST_TOOLS or cursor is not None:
        refused = (
            f"{server.name} offers too many tools: only the first {_MOST_TOOLS} are used",
            *refused[:_MOST_TOOLS],
        )
    return ConnectedTools(tools, refused)


async def _call(client: Client, call: CallTool) -> Called:
    try:
        result = await client.call_tool(call.name, dict(call.arguments))
    except MCPError as error:
        if error.code == types.CONNECTION_CLOSED:
            raise
        return Called(ToolResult.of(str(error) or "the server refused the call", failed=True))
    except (RuntimeError, ValueError) as error:  # a result that is not what the tool's output schema says
        return Called(ToolResult.of(f"the server's result cannot be used: {error}"[:500], failed=True))
    text = "\n".join(map(_text, result.content))
    if not text and result.structured_content is not None:
        text = json.dumps(result.structured_content, ensure_ascii=False)
    return Called(ToolResult.of(text or "the tool returned nothing", failed=result.is_error))


def _text(block: types.ContentBlock) -> str:
    match block:
        case types.TextContent():
            return block.text
        case types.ResourceLink():
            return f"[a link to {block.uri}]"
        case types.EmbeddedResource(resource=types.TextResourceContents() as resource):
            return resource.text
        case types.EmbeddedResource():
            return "[a file that is not text]"
    return f"[{block.type} of {len(block.data)} bytes that the model cannot read]"


def _reason(error: BaseException) -> str:
    """The first reason in a group of errors."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return str(error) or type(error).__name__


def _send(events: BinaryIO, event: Event) -> None:
    write_all(events, encode(event))
