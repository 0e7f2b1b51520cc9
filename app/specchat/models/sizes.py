"""Bytes and seconds as people read them."""

from __future__ import annotations

_KILO = 1000


def in_words(size: float) -> str:
    """A number of bytes in decimal units, as disks and the hub count: `4.4 GB`."""
    if size < _KILO:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB"):
        size /= _KILO
        if size < _KILO:
            return f"{size:.1f} {unit}"
    return f"{size / _KILO:.1f} TB"


def clock(seconds: float) -> str:
    """A duration: `0:07`, `12:30`, `2:05:00`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def count(number: int | None) -> str:
    """A number of parameters: `1.5B`, `135M`; empty where it is not known."""
    for unit, scale in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if number and number >= scale:
            return f"{number / scale:.3g}{unit}"
    return str(number) if number else ""
