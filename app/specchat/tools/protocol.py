"""The messages between the application and the process that talks to an MCP server: one command, then one event."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, get_args

from specchat import pipes
from specchat.pipes import Decoder
from specchat.tools.declared import ToolServer
from specchat.tools.tool import Tool, ToolResult

LONGEST_MESSAGE: Final = 8 * 2**20
"""Bytes of the longest message of a server. The connection to one that sends more ends."""


@dataclass(frozen=True, slots=True)
class Connect:
    """Starts or reaches a server, and asks for its tools. It is the first command."""

    server: ToolServer


@dataclass(frozen=True, slots=True)
class CallTool:
    """Calls a tool by the name that the server gave it."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ConnectedTools:
    """The tools of a server, and one line about each that cannot be used."""

    tools: tuple[Tool, ...]
    refused: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Called:
    """What a call gave."""

    result: ToolResult


@dataclass(frozen=True, slots=True)
class Broke:
    """The server cannot be used any more; the process ends."""

    message: str


Command = Connect | CallTool
Event = ConnectedTools | Called | Broke

encode: Callable[[Command | Event], bytes] = pipes.encode
decode_command = Decoder[Command](get_args(Command)).decode
decode_event = Decoder[Event](get_args(Event)).decode
