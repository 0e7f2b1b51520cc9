"""Checks the values of a trace file, which may come from anyone, against the types and ranges of a recorded turn.

Each function returns the value, or raises ValueError with a message that names the field.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from specchat_engine.codec import from_json
from specchat_engine.decoding.rounds import Outcome, Round, RoundTimes, TokenKind
from specchat_engine.decoding.stats import TurnStats
from specchat_engine.decoding.trace_lines import TRACED

READS = 2
"""The newest schema version that is supported. From version 2 on ids and `lossless` may be null: a server does not send
them."""

LARGEST = 2**53
"""The largest allowed count or time, which is the largest integer that all JSON readers represent exactly."""

DEEPEST = 32
"""The deepest nesting of objects and lists."""

SLACK = 1e-6
"""The tolerance for rounding errors in times and probabilities."""

_TIMES = tuple(field.name for field in fields(RoundTimes))
_COUNTED = TurnStats().to_json()


def start(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Checks the parts of a start line that others read."""
    schema = whole(line, "schema")
    if schema > READS:
        raise ValueError(f"its schema is {schema}, and this specchat reads up to {READS}: update specchat")
    _shallow(line)
    for name in ("verifier", *(name for name in TRACED if name in line)):
        text(line, name)
    if "lossless" not in line or line["lossless"] is not None:
        _checked(line, "lossless", lambda value: isinstance(value, bool), "true, false or null")
    _checked(line, "seed", lambda value: type(value) is int and abs(value) <= 2**64, "a whole number")
    whole(line, "turn")
    if "prompt_tokens" in line:
        whole(line, "prompt_tokens")
    if "prefix_text" in line:
        text(line, "prefix_text")
    if "prefix_text" in line or "prefix" in line:
        counts(line, "prefix")
    for name in ("target", "draft"):
        if line.get(name) is not None:
            model = mapping(line, name)
            text(model, "name")
            whole(model, "n_params")
    for message in listed(line, "messages"):
        text(message, "role")
        text(message, "content")
    return line


def round_of(line: Mapping[str, Any]) -> Round:
    """A round line as a round. Unknown keys are dropped."""
    whole(line, "index")
    text(line, "source")
    whole(line, "k")
    text(line, "reason")
    for token in listed(line, "drafted"):
        token_id(token)
        text(token, "text")
        share(token, "q")
        share(token, "p")
        one_of(token, "outcome", Outcome)
    token = mapping(line, "token")
    if one_of(token, "kind", TokenKind) == TokenKind.NONE:
        if token.get("id", "missing") is not None or token.get("text") != "":
            raise ValueError("a token of kind none needs an id that is null and an empty text")
    else:
        token_id(token)
        text(token, "text")
    share(token, "p")
    for best in listed(line, "top"):
        whole(best, "id")
        text(best, "text")
        _checked(best, "p", _is_share, "a number from 0 to 1")
    times = mapping(line, "ms")
    known = {name: time(times, name) for name in _TIMES if name in times or name != "rollback"}
    time(line, "t_ms")
    return from_json(Round, {**line, "ms": known})


def end(line: Mapping[str, Any]) -> Mapping[str, Any]:
    """Checks an end line. Statistics may be missing."""
    _shallow(line)
    if line.get("reason") is not None:
        text(line, "reason")
    text(line, "text")
    stats = mapping(line, "stats")
    for name, usual in _COUNTED.items():
        if name not in stats or (stats[name] is None and usual is None):
            continue
        if isinstance(usual, list):
            counts(stats, name)
        elif isinstance(usual, int):
            whole(stats, name)
        else:
            time(stats, name)
    return line


def _checked(line: Mapping[str, Any], name: str, is_valid: Callable[[Any], bool], wanted: str) -> Any:
    value = line.get(name)
    if not is_valid(value):
        raise _wrong(line, name, wanted)
    return value


def whole(line: Mapping[str, Any], name: str) -> int:
    """Checks a count or an id."""
    return int(_checked(line, name, _is_count, "a whole number that is not negative"))


def token_id(line: Mapping[str, Any]) -> None:
    """Checks a token's id, which may be null."""
    if line.get("id", "missing") is not None:
        whole(line, "id")


def counts(line: Mapping[str, Any], name: str) -> None:
    """Checks a list of counts or ids."""

    def are_counts(value: Any) -> bool:
        return isinstance(value, list) and all(map(_is_count, value))

    _checked(line, name, are_counts, "a list of whole numbers that are not negative")


def time(line: Mapping[str, Any], name: str) -> float:
    """Checks milliseconds or a ratio: finite and not negative."""
    return float(
        _checked(line, name, lambda value: _is_between(value, -SLACK, LARGEST), "a number that is not negative")
    )


def share(line: Mapping[str, Any], name: str) -> None:
    """Checks a probability, which may be null."""
    if line.get(name, "missing") is not None:
        _checked(line, name, _is_share, "a number from 0 to 1 or null")


def text(line: Mapping[str, Any], name: str) -> str:
    """Checks a text."""
    return str(_checked(line, name, lambda value: isinstance(value, str), "a text"))


def one_of(line: Mapping[str, Any], name: str, known: type[Outcome] | type[TokenKind]) -> str:
    """Checks a word of a fixed list."""
    words = [word.value for word in known]
    return str(_checked(line, name, lambda value: value in words, f"one of {', '.join(words)}"))


def mapping(line: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Checks an object."""
    return dict(_checked(line, name, lambda value: isinstance(value, dict), "an object"))


def listed(line: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    """Checks a list of objects."""

    def are_objects(value: Any) -> bool:
        return isinstance(value, list) and all(isinstance(entry, dict) for entry in value)

    return list(_checked(line, name, are_objects, "a list of objects"))


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= LARGEST


def _is_between(value: Any, low: float, high: float) -> bool:
    return type(value) in (int, float) and low <= value <= high


def _is_share(value: Any) -> bool:
    return _is_between(value, 0, 1 + SLACK)


def _shallow(line: Mapping[str, Any]) -> None:
    """Raises ValueError for a line that is nested too deeply to be written again."""
    level: list[Any] = [line]
    for _ in range(DEEPEST):
        level = [
            inner
            for value in level
            for inner in (value.values() if isinstance(value, dict) else value)
            if isinstance(inner, dict | list)
        ]
        if not level:
            return
    raise ValueError(f"it nests more than {DEEPEST} levels deep")


def _wrong(line: Mapping[str, Any], name: str, wanted: str) -> ValueError:
    if name not in line:
        return ValueError(f"it has no {name}")
    value = line[name]
    if isinstance(value, float) and not math.isfinite(value):
        return ValueError(f"{name} is {value}, not {wanted}")
    shown = f"a {type(value).__name__}" if isinstance(value, dict | list) else repr(value)[:40]
    return ValueError(f"{name} is {shown}, not {wanted}")
