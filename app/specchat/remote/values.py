"""Values that a server sent: each reader gives one of the wanted type, or nothing. Nothing that arrives is trusted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_LARGEST = 2**53


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    return value if isinstance(value, dict) else {}


def listed(value: object) -> Sequence[Any]:
    """A list; an empty one for anything else."""
    return value if isinstance(value, list) else ()


def text(value: object) -> str:
    """A text; empty for anything else. Lone surrogates, which no file can hold, are replaced."""
    return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if isinstance(value, str) else ""


def count(value: object) -> int | None:
    """A whole number that is not negative; None for anything else."""
    return value if type(value) is int and 0 <= value <= _LARGEST else None


def counts(value: object) -> tuple[int, ...] | None:
    """A list of such numbers; None for anything else."""
    if not isinstance(value, list):
        return None
    numbers = [number for number in map(count, value) if number is not None]
    return tuple(numbers) if len(numbers) == len(value) else None


def number(value: object) -> float | None:
    """A number that is finite and not huge; None for anything else."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= _LARGEST:
        return None
    return float(value)


def milliseconds(value: object) -> float | None:
    """Such a number that is not negative; None for anything else."""
    spent = number(value)
    return spent if spent is not None and spent >= 0 else None
