"""The tools that come with the application. They change nothing, and read only files that the user named."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from specchat.errors import FileTooLarge, ToolError
from specchat.files import bounded_text
from specchat.terminal.filter import clean_line
from specchat.tools.calculator import calculate
from specchat.tools.tool import Tool, ToolResult

_MOST_BYTES: Final = 256 * 1024


@dataclass(frozen=True, slots=True)
class BuiltIns:
    """The built-in tools of one chat. `files` are those that the user named, and `now` returns the time."""

    files: Collection[Path] = ()
    now: Callable[[], datetime] = lambda: datetime.now().astimezone()

    @property
    def tools(self) -> tuple[Tool, ...]:
        """The tools; that for files only if there are any."""
        return (*_ALWAYS, *([_read_file(self.files)] if self.files else []))

    def call(self, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """The result of a call. Raises ToolError for arguments that the tool does not take, and if it fails."""
        match name:
            case "current_time":
                return ToolResult.of(f"{self.now():%A, %d %B %Y, %H:%M:%S (UTC%z)}")
            case "calculate":
                return ToolResult.of(calculate(_text(arguments, "expression")))
            case "read_file":
                return ToolResult.of(self._content(_text(arguments, "path")))
        raise ToolError(f"there is no tool {name!r}: use {', '.join(tool.name for tool in self.tools)}")

    def _content(self, name: str) -> str:
        """The text of a file that the user named, by its path or its own name."""
        matching = [path for path in self.files if name in (str(path), path.name)]
        if len(matching) != 1:
            raise ToolError(f"{name!r} is none of the files that may be read: {', '.join(_labels(self.files))}")
        try:
            return bounded_text(named_file(matching[0]), _MOST_BYTES)
        except OSError as error:
            raise ToolError(f"{name} cannot be read: {error.strerror or error}") from None
        except FileTooLarge:
            raise ToolError(f"{name} has more than {_MOST_BYTES // 1024} KiB") from None
        except UnicodeDecodeError:
            raise ToolError(f"{name} is not text in UTF-8") from None


def named_file(path: Path) -> Path:
    """The absolute path of a file. Raises ToolError for what is none, such as a folder or a pipe."""
    if not path.is_file():
        raise ToolError(f"there is no file {clean_line(path.name)}: correct its path")
    return path.absolute()


def _labels(files: Collection[Path]) -> list[str]:
    """The names of files as the model writes them: short ones where no two are the same."""
    names = [path.name for path in files]
    return [path.name if names.count(path.name) == 1 else str(path) for path in files]


def _schema(**properties: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def _read_file(files: Collection[Path]) -> Tool:
    named = {"type": "string", "enum": _labels(files)}
    return Tool("read_file", "Reads a text file that the user named.", _schema(path=named))


_ALWAYS: Final = (
    Tool("current_time", "Returns the date and the time of day where the user is.", _schema()),
    Tool(
        "calculate",
        "Calculates an arithmetic expression, such as 2 * (3 + sqrt(4)) ** 2.",
        _schema(expression={"type": "string", "description": "Numbers, + - * / // % **, parentheses and functions."}),
    ),
)


def _text(arguments: Mapping[str, Any], key: str) -> str:
    value = arguments.get(key)
    if not isinstance(value, str):
        raise ToolError(f"{key} is {value!r}: give a text")
    return value
