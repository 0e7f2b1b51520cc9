"""One recorded turn, as `--json` prints it, and reading the files that hold such turns.

A file may be cut short by a killed process and may come from anyone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, NamedTuple

from specchat.errors import TraceError
from specchat.store.images import hashes_in
from specchat.terminal.filter import clean_line
from specchat.traces import checks
from specchat_assets.quoted import question_in
from specchat_engine.decoding.rounds import Round, RoundTimes, TargetToken, TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import round_line


class Trace(NamedTuple):
    """A turn: its start line, its rounds, and its end line, which is None if the recording was cut short.

    `error` is the message of the error that ended the turn, or None.
    """

    start: Mapping[str, Any]
    rounds: tuple[Round, ...]
    end: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def text(self) -> str:
        """The answer; without an end line, the text of the rounds."""
        if self.end:
            return str(self.end["text"])
        return self.given + "".join(event.text for event in self.rounds)

    @property
    def given(self) -> str:
        """The text with which the answer had to begin, if it was branched from another; it belongs to no round."""
        return str(self.start.get("prefix_text", ""))

    @property
    def opening(self) -> Round | None:
        """The given text as a round, to be drawn or printed like others; None if there is none."""
        if not self.given:
            return None
        token = TargetToken(None, self.given, None, TokenKind.PLAIN)
        return Round(0, "none", 0, "given", (), token, (), RoundTimes(0.0, 0.0, 0.0), 0.0)

    @property
    def tokens(self) -> tuple[int, ...]:
        """The token ids of the answer, including the ones that it had to begin with; empty if a server sent none."""
        emitted = [token.id for event in self.rounds for token in event.emitted]
        known = [token for token in emitted if token is not None]
        return (*map(int, self.start.get("prefix", ())), *known) if len(known) == len(emitted) else ()

    @property
    def is_remote(self) -> bool:
        """True if a server gave the answer, which reports less than an engine on this machine."""
        return self.start.get("source") == "remote"

    def sharpness_at(self, position: int) -> float:
        """The power of q that the round of an output position drafted with; 1 before the first round."""
        end = len(self.start.get("prefix", ()))
        for event in self.rounds:
            end += event.num_emitted
            if position < end:
                return event.sharpness
        return 1.0

    @property
    def reason(self) -> str | None:
        """Why the answer ended; None if that was not recorded."""
        return self.end.get("reason") if self.end else None

    @property
    def question(self) -> str:
        """The user's message in this turn, without the passage that the built-in guide gets with it."""
        spoken = (
            question_in(str(message["content"]))
            for message in reversed(self.start["messages"])
            if message["role"] == "user"
        )
        return next(spoken, "")

    @property
    def asked(self) -> str:
        """What the answer follows: the user's message or, if tools were called, their results."""
        messages = self.start["messages"]
        results = list(takewhile(lambda message: message["role"] == "tool", reversed(messages)))
        texts = (f"Result of {message.get('name') or 'a call'}: {message['content']}" for message in reversed(results))
        return "\n".join(texts) or self.question

    @property
    def images(self) -> tuple[str, ...]:
        """The hashes of the images in the user's message, if the answer follows it."""
        last = self.start["messages"][-1] if self.start["messages"] else {}
        return hashes_in(last) if last.get("role") == "user" else ()

    @property
    def stats(self) -> Mapping[str, Any]:
        """The statistics of the end line. Values that it lacks are counted again."""
        return self.stats_after(len(self.rounds)) | dict(self.end["stats"] if self.end else {})

    def stats_after(self, count: int) -> dict[str, Any]:
        """The statistics of the first `count` rounds. The speed-up is None, since rounds do not contain C(1)."""
        stats = TurnStats(prompt_tokens=self.start.get("prompt_tokens", 0))
        for event in self.rounds[:count]:
            stats.observe(event)
        stats.ttft_ms = self.rounds[0].t_ms if self.rounds[:count] else 0.0
        return stats.to_json()

    def lines(self) -> Iterator[dict[str, Any]]:
        """The objects of its lines in order: start, rounds, and an error and an end if there are any."""
        yield dict(self.start)
        for event in self.rounds:
            yield round_line(event)
        if self.error is not None:
            yield {"type": "error", "message": self.error}
        if self.end:
            yield dict(self.end)


LONGEST_LINE = 8 * 2**20
"""The most bytes of a line. A start line repeats the whole conversation."""

LARGEST_FILE = 128 * 2**20
"""The most bytes of a file: more than 100,000 rounds."""

_NOT_JSON = "this is not JSON"


def read_trace(
    source: Path | Iterable[str | bytes], name: str = "", on_read: Callable[[int], object] = int
) -> list[Trace]:
    """The turns of a file or of its lines, at least one. A last line without a line end may be incomplete.

    Unknown lines and keys are ignored. `name` is used in error messages instead of the path. `on_read` is called with
    the number of bytes after each line. Raises TraceError, with the number of the line, if this is not a trace, and if
    the file cannot be read.
    """
    if isinstance(source, Path):
        try:
            with source.open("rb") as file:
                return read_trace(lines_of(file), name or str(source), on_read)
        except FileNotFoundError:
            raise TraceError(f"{source} does not exist: name a file that `run --json` wrote") from None
        except OSError as error:
            reason = error.strerror or error
            raise TraceError(f"{source} cannot be read: {reason}; name a file that `run --json` wrote") from None
    label = clean_line(name) or "the trace"
    turns = _Turns()
    size, number, half = 0, 0, False
    try:
        for line in source:
            if half:
                raise ValueError(_NOT_JSON)
            number += 1
            size += len(line)
            on_read(size)
            if len(line) > LONGEST_LINE or size > LARGEST_FILE:
                raise ValueError(_too_large(len(line)))
            if line.strip():
                parsed = _object(line)
                half = parsed is None
                turns.take(parsed or {})
    except ValueError as fault:
        raise TraceError(f"{label}, line {number}: {clean_line(str(fault))}") from None
    if not (traces := turns.finished()):
        raise TraceError(f"{label} is not a trace: `specchat run --json PROMPT > FILE` writes one")
    return traces


def lines_of(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a binary file. A line that is too long is not read completely."""
    return iter(lambda: file.readline(LONGEST_LINE + 1), b"")


class _Turns:
    """Groups lines into turns."""

    def __init__(self) -> None:
        self._traces: list[Trace] = []
        self._start: Mapping[str, Any] | None = None
        self._rounds: list[Round] = []
        self._error: str | None = None

    def take(self, line: Mapping[str, Any]) -> None:
        """Adds the object of one line. Raises ValueError if it is not allowed here."""
        match line.get("type"):
            case "start":
                self._close(None)
                self._start = checks.start(line)
            case "round":
                self._inside("round")
                self._rounds.append(self._next(checks.round_of(line)))
            case "error":
                self._inside("error")
                self._error = checks.text(line, "message")
            case "end":
                self._inside("end")
                self._close(checks.end(line))

    def finished(self) -> list[Trace]:
        """All turns. The last one may have no end."""
        self._close(None)
        return self._traces

    def _inside(self, kind: str) -> None:
        if self._start is None:
            raise ValueError(f"a line of type {kind} stands outside a turn, before any line of type start")

    def _next(self, event: Round) -> Round:
        expected = len(self._rounds)
        if event.index != expected:
            raise ValueError(f"round {event.index} stands where round {expected} belongs: lines are missing or doubled")
        if self._rounds and event.t_ms < self._rounds[-1].t_ms:
            raise ValueError(f"t_ms goes back from {self._rounds[-1].t_ms} to {event.t_ms}")
        return event

    def _close(self, end: Mapping[str, Any] | None) -> None:
        if self._start is not None:
            self._traces.append(Trace(self._start, tuple(self._rounds), end, self._error))
        self._start, self._rounds, self._error = None, [], None


def _object(line: str | bytes) -> Mapping[str, Any] | None:
    """The object in a line; None for an incomplete last line, as a killed process leaves it."""
    try:
        value = json.loads(line.decode() if isinstance(line, bytes) else line, parse_constant=_no_constant)
    except _Constant as constant:
        raise ValueError(f"{constant} is not a number that JSON knows") from None
    except RecursionError:
        raise ValueError(f"it nests more than {checks.DEEPEST} levels deep") from None
    except ValueError:
        ended = line.endswith(b"\n") if isinstance(line, bytes) else line.endswith("\n")
        if ended:
            raise ValueError(_NOT_JSON) from None
        return None
    if not isinstance(value, dict):
        raise ValueError("this is not a JSON object")
    return value


class _Constant(Exception):
    """NaN or an infinity."""


def _no_constant(name: str) -> None:
    raise _Constant(name)


def _too_large(line: int) -> str:
    if line > LONGEST_LINE:
        return f"it is longer than {LONGEST_LINE // 2**20} MiB"
    return f"the file is larger than {LARGEST_FILE // 2**20} MiB"
