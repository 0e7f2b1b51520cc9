"""The three forms in which `run` and `replay` print an answer: coloured, plain text, or JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from typing import Any, TextIO

from specchat.cli.messages import say
from specchat.stats.line import statistics_line
from specchat.terminal.filter import TerminalFilter
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import round_line


class JsonOutput:
    """The trace, one JSON object a line, unfiltered."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def start(self, line: Mapping[str, Any]) -> None:
        """Prints the start line."""
        self.print(line)

    def round(self, event: Round) -> None:
        """Prints the round."""
        self.print(round_line(event))

    def error(self, message: str) -> None:
        """Prints an error line."""
        self.print({"type": "error", "message": message})

    def end(self, line: Mapping[str, Any]) -> None:
        """Prints the end line."""
        self.print(line)

    def print(self, line: Mapping[str, Any]) -> None:
        """Prints any line of a trace."""
        self._stream.write(json.dumps(line, ensure_ascii=False) + "\n")
        self._stream.flush()


class PlainOutput:
    """The answer's text and a line end, exactly or without control characters. Statistics go to standard error."""

    def __init__(self, stream: TextIO, *, filtered: bool = False) -> None:
        self._stream = stream
        self._shown: Callable[[str], str] = TerminalFilter().feed if filtered else str
        self._start: Mapping[str, Any] = {}
        self._last = ""

    def start(self, line: Mapping[str, Any]) -> None:
        """Keeps the line for the statistics."""
        self._start = line

    def round(self, event: Round) -> None:
        """Prints what the round added."""
        if event.text:
            self._last = event.text
            self._stream.write(self._shown(event.text))
            self._stream.flush()

    def error(self, message: str) -> None:
        """Prints nothing: the command reports the error."""

    def end(self, line: Mapping[str, Any]) -> None:
        """Ends the line and prints the statistics."""
        if _said_nothing(line):
            return
        if not self._last.endswith("\n"):
            self._stream.write("\n")
            self._stream.flush()
        say(statistics_line(line["stats"], self._start))


class ColourOutput:
    """The answer in the colours of its outcomes, with the rejected tokens, and the statistics."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False, soft_wrap=True)
        self._filter = TerminalFilter()
        self._start: Mapping[str, Any] = {}

    def start(self, line: Mapping[str, Any]) -> None:
        """Keeps the line for the statistics."""
        self._start = line

    def round(self, event: Round) -> None:
        """Prints the round's tokens."""
        from specchat.terminal.pieces import round_text

        self._console.print(round_text(event, self._filter), end="")
        self._console.file.flush()

    def error(self, message: str) -> None:
        """Prints nothing: the command reports the error."""

    def end(self, line: Mapping[str, Any]) -> None:
        """Ends the line and prints the statistics."""
        if _said_nothing(line):
            return
        self._console.print()
        say(statistics_line(line["stats"], self._start))


def _said_nothing(line: Mapping[str, Any]) -> bool:
    """True if an error ended the turn before its first token: only the error is printed then."""
    return line["reason"] == "error" and not line["stats"]["num_tokens"]


Output = JsonOutput | PlainOutput | ColourOutput
"""Receives one turn: its start, its rounds, an error if one ended it, its end."""


def output_for(stream: TextIO, *, as_json: bool, filtered: bool = False) -> Output:
    """The output for a stream: coloured on a terminal, else plain text, which may be filtered as for a terminal."""
    if isinstance(stream, TextIOWrapper):
        # A lone surrogate, or a character that the encoding lacks, must not end the answer.
        stream.reconfigure(encoding=None if stream.isatty() else "utf-8", errors="backslashreplace")
    if as_json:
        return JsonOutput(stream)
    return ColourOutput(stream) if stream.isatty() else PlainOutput(stream, filtered=filtered)
