"""Tools and their results, as the rest of the application sees them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Final

from specchat.terminal.filter import clean_line, without_sequences

LONGEST_RESULT: Final = 32 * 1024
"""Characters of a result that the model reads. Most local models have room for no more."""

_LONGEST_NAME: Final = 64
_LONGEST_DESCRIPTION: Final = 2000
_LARGEST_SCHEMA: Final = 16 * 1024
_DEEPEST: Final = 24
_UNWRITABLE: Final = re.compile(r"[^A-Za-z0-9_-]")
_EMPTY: Final[Mapping[str, Any]] = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Tool:
    """A function that a model may call. `server` is the server that has it under this name, empty for a built-in one.

    `schema` describes the arguments in JSON schema.
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    server: str = ""

    @property
    def called(self) -> str:
        """The name by which models call it: its own with an underscore for each sign that some models cannot write.

        A long name is cut, and ends with a hash. No two servers share a name.
        """
        whole = f"{self.server}_{self.name}" if self.server else self.name
        name = _UNWRITABLE.sub("_", whole)
        if len(name) <= _LONGEST_NAME:
            return name
        return f"{name[: _LONGEST_NAME - 9]}_{sha256(whole.encode()).hexdigest()[:8]}"

    def to_function(self) -> dict[str, Any]:
        """The tool in the form of OpenAI's chat API."""
        function = {"name": self.called, "description": self.description, "parameters": self.schema}
        return {"type": "function", "function": function}


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call gave: text for the model, filtered for a terminal. A result that `failed` says why.

    `seconds` is how long the call took, 0 if it was not made.
    """

    text: str
    failed: bool = False
    seconds: float = 0.0

    @classmethod
    def of(cls, text: str, *, failed: bool = False) -> ToolResult:
        """A result of any text, without control characters and cut to what a model can read."""
        most = 4 * LONGEST_RESULT
        shortened = without_sequences(text[:most])
        if len(shortened) > LONGEST_RESULT or len(text) > most:
            shortened = f"{shortened[:LONGEST_RESULT]}\n[The rest is left out: all of it has {len(text)} characters.]"
        return cls(shortened, failed)


def usable(tools: Sequence[Tool]) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """The tools that can be offered to a model, and one line about each of the others.

    Descriptions are filtered and cut. A schema that is too large, too deep or not of an object refuses its tool: the
    model could not read it, or the server would refuse each call.
    """
    by_name: dict[str, Tool] = {}
    refused: list[str] = []
    for tool in tools:
        problem = _problem(tool, by_name)
        if problem:
            refused.append(f"{tool.server} offers the tool {clean_line(tool.name)[:40]!r}, which {problem}")
            continue
        description = clean_line(without_sequences(tool.description[:_LONGEST_DESCRIPTION]))
        by_name[tool.called] = Tool(tool.name, description, tool.schema, tool.server)
    return tuple(by_name.values()), tuple(refused)


def _problem(tool: Tool, by_name: Mapping[str, Tool]) -> str:
    if not (tool.name and tool.name.isprintable()):
        return "has a name that nobody can write"
    if tool.called in by_name:
        return "has the name of another one"
    if tool.schema.get("type", "object") != "object":
        return "takes no object"
    if _depth(tool.schema) > _DEEPEST:
        return "has a schema that is nested too deep"
    if len(json.dumps(tool.schema)) > _LARGEST_SCHEMA:
        return f"has a schema of more than {_LARGEST_SCHEMA // 1024} KiB"
    return ""


def _depth(value: Any) -> int:
    """The levels of a JSON value, counted no further than what is refused."""
    level, depth = [value], 0
    while level and depth <= _DEEPEST:
        depth += 1
        inner = [value_inside.values() if isinstance(value_inside, Mapping) else value_inside for value_inside in level]
        level = [part for parts in inner if not isinstance(parts, str | int | float | None) for part in parts]
    return depth
