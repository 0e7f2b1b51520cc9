"""The servers of tools that config.toml declares, each in a table of its own:

    [tools.time]
    command = ["mcp-server-time", "--local-timezone", "Europe/Rome"]

    [tools.docs]
    url = "https://docs.example.org/mcp"
    headers = { Authorization = "Bearer …" }

A command runs with few variables of the environment; `environment` adds others.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from specchat.errors import ConfigError
from specchat.settings.config import read_table
from specchat.settings.paths import config_file
from specchat.terminal.filter import clean_line

TIMEOUT: Final = 60.0
_LONGEST_TIMEOUT: Final = 3600.0
_NAME: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,23}", re.IGNORECASE)
_KEYS: Final = ("command", "url", "environment", "headers", "timeout")


@dataclass(frozen=True, slots=True)
class ToolServer:
    """An MCP server: a `command` that talks through its standard input and output, or a `url`.

    `timeout` is how many seconds a call may take. Only a command has an `environment`, and only a URL has `headers`.
    """

    name: str
    command: tuple[str, ...] = ()
    url: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    timeout: float = TIMEOUT

    @property
    def where(self) -> str:
        """Where calls go, as the user reads it: the host, or the command."""
        return clean_line(urlsplit(self.url).netloc.rpartition("@")[2] if self.url else shlex.join(self.command))


def read_servers() -> tuple[ToolServer, ...]:
    """The declared servers, in the order of the file. Raises ConfigError with the place, the value and the remedy."""
    try:
        return tuple(_server(name, table) for name, table in read_table("tools").items())
    except _Wrong as wrong:
        raise ConfigError(f"{config_file()}: {wrong}") from None


class _Wrong(ValueError):
    """A value that cannot be used."""


def _server(name: str, table: object) -> ToolServer:
    if not _NAME.fullmatch(name) or name == "builtin":
        raise _Wrong(f"tools.{name} cannot be a name: use up to 24 letters, digits, - and _")
    if not isinstance(table, dict):
        raise _Wrong(f"tools.{name} is {table!r}: use a table with a command or a url")
    if unknown := next((key for key in table if key not in _KEYS), None):
        raise _Wrong(f"there is no setting tools.{name}.{unknown}: known are {', '.join(_KEYS)}")
    command, url = _command(name, table.get("command", ())), _url(name, table.get("url", ""))
    if bool(command) == bool(url):
        raise _Wrong(f"tools.{name} has {'a command and a url' if url else 'no command and no url'}: use one")
    if extra := next((key for key in (("headers",) if command else ("environment",)) if key in table), None):
        raise _Wrong(f"tools.{name}.{extra} has no effect: only a {'url' if command else 'command'} takes it")
    return ToolServer(
        name,
        command,
        url,
        _texts(name, "environment", table.get("environment", {})),
        _texts(name, "headers", table.get("headers", {})),
        _seconds(name, table.get("timeout", TIMEOUT)),
    )


def _command(name: str, value: Any) -> tuple[str, ...]:
    try:
        words = shlex.split(value) if isinstance(value, str) else value
    except ValueError:  # of a quotation that is not closed
        words = None
    if not isinstance(words, list | tuple) or not all(isinstance(word, str) and "\0" not in word for word in words):
        raise _Wrong(f"tools.{name}.command is {value!r}: use a list of words")
    return tuple(words)


def _url(name: str, value: Any) -> str:
    if not isinstance(value, str):
        raise _Wrong(f"tools.{name}.url is {value!r}: use a text")
    if value and not re.fullmatch(r"https?://[^/\s]+\S*", value):
        raise _Wrong(f"tools.{name}.url is {value!r}: use one that begins with http:// or https://")
    return value


def _texts(name: str, key: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(text, str) and "\0" not in text for text in value.values()):
        raise _Wrong(f"tools.{name}.{key} is not a table of texts")
    return value


def _seconds(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= _LONGEST_TIMEOUT:
        raise _Wrong(f"tools.{name}.timeout is {value!r}: use seconds, at most {_LONGEST_TIMEOUT:.0f}")
    return float(value)
