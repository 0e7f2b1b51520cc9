"""Commands and events as lines of JSON, UTF-8.

The reader is tolerant: an object that it does not know is None, a field that it does not know is ignored, and a field
that is missing has its default. So an older and a newer side can talk.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, fields
from itertools import groupby
from typing import TYPE_CHECKING, Any, TypeVar

from specchat.bench.gain import Gain
from specchat.worker.packed import packed, unpacked
from specchat.worker.protocol import (
    Cancel,
    ChatMessage,
    Command,
    Ended,
    Event,
    Freeze,
    Generate,
    Inspect,
    Inspected,
    Keep,
    Kept,
    Load,
    Loaded,
    Loading,
    ModelSummary,
    Notice,
    Prepare,
    Quit,
    Recall,
    Recalled,
    Set,
    Started,
    Step,
    Threads,
    Time,
    Timed,
    Timing,
    WorkerFailed,
)
from specchat_engine.analysis.inspect import Inspection
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.decoding.rounds import Round
from specchat_engine.memory.measured import MemoryUse
from specchat_engine.sampling.params import SamplingParams

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings

_T = TypeVar("_T")

_line = json.JSONEncoder(default=asdict).encode
_compact = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


def encode_command(command: Command) -> str:
    """The command as one line, without its line end."""
    return _line({"cmd": type(command).__name__.lower(), **command._asdict()})


def decode_command(line: str | bytes) -> Command | None:
    """The command that a line holds, None where it holds none that this side knows."""
    fields_of = _object(line)
    try:
        match fields_of.get("cmd"):
            case "load":
                return Load(fields_of["target"], fields_of.get("draft"), _options(fields_of.get("options", {})))
            case "generate":
                return Generate(
                    messages=_messages(fields_of),
                    turn=fields_of["turn"],
                    attempt=fields_of.get("attempt", 0),
                    seed=fields_of["seed"],
                    settings=_settings(fields_of["settings"]),
                    prefix=tuple(fields_of.get("prefix", ())),
                    frozen=bool(fields_of.get("frozen", False)),
                )
            case "inspect":
                return Inspect(
                    messages=_messages(fields_of),
                    tokens=tuple(fields_of["tokens"]),
                    position=fields_of["position"],
                    asked=tuple(fields_of["asked"]),
                    seed=fields_of["seed"],
                    settings=_settings(fields_of["settings"]),
                )
            case "prepare":
                return Prepare(_messages(fields_of), fields_of["seed"], _settings(fields_of["settings"]))
            case "set":
                return Set(_settings(fields_of["settings"]))
            case "threads":
                checked = _options({"threads": fields_of["target"], "threads_draft": fields_of["draft"]})
                return Threads(checked.threads, checked.threads_draft)
            case "freeze":
                return Freeze(bool(fields_of["on"]))
            case "step":
                return Step(int(fields_of.get("rounds", 1)))
            case "keep":
                return Keep(str(fields_of["folder"]), int(fields_of["limit"]))
            case "recall":
                return Recall(str(fields_of["folder"]))
            case "time":
                options = _options(fields_of.get("options", {}))
                return Time(fields_of["target"], fields_of["draft"], options, float(fields_of["seconds"]))
            case "cancel":
                return Cancel()
            case "quit":
                return Quit()
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None


def encode_event(event: Event) -> str:
    """The event as one line, without its line end."""
    match event:
        case Round():
            return _rounds([event])
        case Started():
            line = {**event.line, "type": "start"}
        case WorkerFailed():
            line = {"type": "error", "message": event.message}
        case Ended():
            line = {"type": "end", **event._asdict(), "costs": event.costs.to_json()}
        case Inspected():
            line = {"type": "inspected", "inspection": event.inspection.to_json()}
        case _:
            line = {"type": type(event).__name__.lower(), **event._asdict()}
    return _line(line)


def encode_events(events: Iterable[Event]) -> Iterator[str]:
    """The events as lines, in order, rounds that follow each other in one; `decode_events` has them again."""
    for are_rounds, group in groupby(events, key=_is_round):
        if are_rounds:
            yield _rounds(event for event in group if isinstance(event, Round))
        else:
            yield from map(encode_event, group)


def decode_events(line: str | bytes) -> Iterator[Event]:
    """The events that a line holds, none where this side knows none of them."""
    fields_of = _object(line)
    if fields_of.get("type") != "rounds":
        event = _event(fields_of)
        if event is not None:
            yield event
        return
    with suppress(KeyError, TypeError, ValueError):
        yield from [unpacked(values) for values in fields_of["rounds"]]


def _event(fields_of: Mapping[str, Any]) -> Event | None:
    try:
        match fields_of.get("type"):
            case "loading":
                return Loading(float(fields_of["progress"]))
            case "loaded":
                return _loaded(fields_of)
            case "start":
                return Started(dict(fields_of))
            case "notice":
                return Notice(str(fields_of["text"]))
            case "end":
                return _ended(fields_of)
            case "inspected":
                return Inspected(Inspection.from_json(fields_of["inspection"]))
            case "kept":
                return Kept(bool(fields_of["ok"]), str(fields_of.get("message", "")))
            case "recalled":
                return Recalled(bool(fields_of["ok"]))
            case "timing":
                return Timing(float(fields_of["share"]))
            case "timed":
                gain = fields_of.get("gain")
                return Timed(None if gain is None else build(Gain, gain))
            case "error":
                return WorkerFailed(str(fields_of["message"]))
    except (KeyError, TypeError, ValueError, AttributeError):
        return None
    return None


def build(kind: type[_T], values: Mapping[str, Any]) -> _T:
    """A dataclass from JSON: unknown names are ignored, lists become tuples, missing names have their defaults."""
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items() if name in known})


def _loaded(line: Mapping[str, Any]) -> Loaded:
    draft = line.get("draft")
    return Loaded(
        target=build(ModelSummary, line["target"]),
        draft=None if draft is None else build(ModelSummary, draft),
        drafters=tuple(line["drafters"]),
        recommended=build(SamplingParams, line["recommended"]),
        refusal=line.get("refusal"),
        n_ctx=int(line["n_ctx"]),
        plain_because=str(line.get("plain_because", "")),
        translated_because=str(line.get("translated_because", "")),
        memory=build(MemoryUse, line.get("memory", {})),
    )


def _ended(line: Mapping[str, Any]) -> Ended:
    costs = MeasuredCosts.from_json(line["costs"]) if "costs" in line else MeasuredCosts()
    return Ended(str(line["reason"]), str(line["text"]), dict(line["stats"]), costs)


def _rounds(events: Iterable[Round]) -> str:
    return _compact({"type": "rounds", "rounds": [packed(event) for event in events]})


def _is_round(event: Event) -> bool:
    return isinstance(event, Round)


def _object(line: str | bytes) -> dict[str, Any]:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _messages(line: Mapping[str, Any]) -> tuple[ChatMessage, ...]:
    return tuple(build(ChatMessage, message) for message in line["messages"])


def _options(values: Mapping[str, Any]) -> LoadOptions:
    from specchat_engine import LoadOptions

    return build(LoadOptions, values)


def _settings(values: Mapping[str, Any]) -> Settings:
    from specchat_engine import Settings

    return build(Settings, {**values, "sampling": build(SamplingParams, values.get("sampling", {}))})
