"""Reads the events of one answer as what a client gets: step by step, or at the end as a whole."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from specchat.engine_process.protocol import Ended, Generate, Position, Scored, Started
from specchat.serve.answers.figures import AnswerFigures
from specchat.serve.answers.released import Releasing
from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.parser import AnswerParser
from specchat_engine.answers.parts import AnswerPart, Parser, PartKind
from specchat_engine.decoding.reasoning import ReasoningCounter
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.trace_lines import round_line

FinishReason = Literal["stop", "length", "tool_calls"]

_PATHS = ("target", "draft", "head", "further")


@dataclass(frozen=True, slots=True)
class Delta:
    """The part that one event adds to an answer.

    The first has `started`; `line` is the line of the trace for the event, if traces are wanted. Only the last has a
    `finish`, and the stop string that ended the answer, if one did.
    """

    parts: tuple[AnswerPart, ...] = ()
    positions: tuple[Position, ...] = ()
    started: Started | None = None
    line: Mapping[str, Any] = field(default_factory=dict)
    finish: FinishReason | None = None
    stop: str | None = None


@dataclass(slots=True)
class AnswerSoFar:
    """An answer as far as it was sent."""

    content: str = ""
    reasoning: str = ""
    calls: list[CallDelta] = field(default_factory=list)
    positions: list[Position] = field(default_factory=list)
    lines: list[Mapping[str, Any]] = field(default_factory=list)
    started: Started | None = None
    finish: FinishReason = "stop"
    stop: str | None = None

    def add(self, delta: Delta) -> None:
        """Adds what came next."""
        for part in delta.parts:
            match part.kind:
                case PartKind.CONTENT:
                    self.content += part.text
                case PartKind.REASONING:
                    self.reasoning += part.text
                case PartKind.CALL:
                    self.calls.append(CallDelta(part.text))
                case PartKind.ARGUMENTS:
                    self.calls[-1].arguments += part.text
        self.positions += delta.positions
        self.lines += [delta.line] if delta.line else []
        self.started = self.started or delta.started
        self.finish, self.stop = delta.finish or self.finish, delta.stop or self.stop


@dataclass(slots=True)
class CallDelta:
    """A call of a tool."""

    name: str
    arguments: str = ""


class RawText:
    """Takes everything for content: what continues a raw text has no other parts."""

    def feed(self, text: str) -> list[AnswerPart]:
        """The text."""
        return [AnswerPart(PartKind.CONTENT, text)]

    def finish(self, *, cut: bool = False) -> list[AnswerPart]:
        """Nothing is left."""
        return []


def parser_of(request: Generate, answer_format: AnswerFormat, *, thinking: bool) -> Parser:
    """Returns a parser for the parts of an answer; `thinking` says that the prompt opened the reasoning.

    An answer that a grammar holds to a format calls tools only if it begins so, unless a call is required.
    """
    if request.prompt is not None:
        return RawText()
    formatted = bool(request.settings.sampling.grammar) and not request.tools.required
    return AnswerParser(
        answer_format,
        request.tools.functions,
        thinking=thinking,
        continued=request.continues,
        formatted=formatted,
    )


class AnswerReader:
    """Reads the events of one answer, in their order. With `traces` each delta has its line of the trace."""

    def __init__(self, request: Generate, answer_format: AnswerFormat, *, traces: bool = False) -> None:
        self.figures = AnswerFigures()
        self._request = request
        self._format = answer_format
        self._traces = traces
        self._parser = parser_of(request, answer_format, thinking=False)
        self._releasing = Releasing(request.settings.stop, sends_end=request.echo)
        self._scores: tuple[Position, ...] = ()
        self._written = ""
        self._reasoning = ReasoningCounter(answer_format)
        self._calls = False

    def read(self, event: Started | Scored | Round | Ended) -> Delta | None:
        """Returns what an event adds to the answer; None for scores, which belong to the round that follows."""
        line = trace_line(event) if self._traces and not isinstance(event, Scored) else {}
        match event:
            case Started():
                self.figures.begin(event)
                thinking = bool(event.line.get("opens_reasoning"))
                self._parser = parser_of(self._request, self._format, thinking=thinking)
                self._reasoning = ReasoningCounter(self._format, opened=thinking)
                return Delta(started=event, line=line)
            case Scored(positions):
                self._scores = positions
                return None
            case Round():
                return self._made(event, line)
            case Ended():
                return self._ended(event, line)

    def _made(self, event: Round, line: Mapping[str, Any]) -> Delta:
        self.figures.observe(event)
        if isinstance(self._parser, AnswerParser):
            self._reasoning.observe(event)
            self.figures.reasoning_tokens = self._reasoning.stats.num_tokens if self._reasoning.stats else 0
        self._written += event.text
        texts = [token.text for token in event.emitted]
        portion, self._scores = self._releasing.feed(texts, self._scores), ()
        parts = self._noted(self._parser.feed(portion.text) if portion.text else ())
        return Delta(parts, portion.positions, line=line)

    def _ended(self, ended: Ended, line: Mapping[str, Any]) -> Delta:
        portion = self._releasing.finish(ended.text)
        last = self._parser.feed(portion.text) if portion.text else ()
        parts = self._noted((*last, *self._parser.finish(cut=ended.reason not in ("end", "stop"))))
        stop = None
        if ended.reason == "stop":
            rest = self._written[len(ended.text) :]
            stop = next((stop for stop in self._request.settings.stop if rest.startswith(stop)), None)
        reason: FinishReason = "stop" if ended.reason in ("end", "stop") else "length"
        if self._calls and reason == "stop":
            reason = "tool_calls"
        return Delta(parts, portion.positions, line=line, finish=reason, stop=stop)

    def _noted(self, parts: Sequence[AnswerPart]) -> tuple[AnswerPart, ...]:
        """The parts, after noting whether there are calls."""
        self._calls = self._calls or any(part.kind is PartKind.CALL for part in parts)
        return tuple(parts)


def trace_line(event: Started | Round | Ended) -> Mapping[str, Any]:
    """The line of an answer's trace for an event, without the paths of files."""
    match event:
        case Started(line=line):
            return without_paths(line)
        case Round():
            return round_line(event)
        case Ended():
            return {"type": "end", "reason": event.reason, "text": event.text, "stats": dict(event.stats)}


def without_paths(line: Mapping[str, Any]) -> dict[str, Any]:
    """A trace's first line without the paths of files, which are nobody else's business."""
    return {name: _without_path(value) if name in _PATHS else value for name, value in line.items()}


def _without_path(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_path(item) for name, item in value.items() if name != "path"}
    return [_without_path(item) for item in value] if isinstance(value, list | tuple) else value
