"""How much a chat template may make, in bytes, and how large its next value would be.

Python makes a string of a given width in one call, which nothing interrupts. So the size of what can outgrow its input
is computed before it is made. Everything else is at most a few times larger than its input, and is counted afterwards.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, TypeVar

from specchat_engine.errors import TemplateError

Value = TypeVar("Value")
Size = Callable[[object], int]

LARGEST: Final = 1 << 20
"""What a value may have, apart from 32 times the size of the conversation."""

TOTAL: Final = 16 << 20
"""What all values may have together, apart from 128 times the size of the conversation and 4 times for each message."""

ELEMENT: Final = 128
"""What an element of a list counts: its place and a small object."""

_EMPTY: Final = sys.getsizeof("")

_FIELD: Final = 512
"""What a format makes of a number at most."""


class Allowance:
    """What a rendering may still make. Raises TemplateError at what exceeds it."""

    def __init__(self, given: Mapping[str, Any] = MappingProxyType({}), messages: int = 0) -> None:
        """`given` are the values that the template gets, with this many messages."""
        self._sizes: dict[int, tuple[object, int]] = {}
        self._largest = self._left = sys.maxsize
        size = self.size(dict(given))
        self._largest = LARGEST + 32 * size
        self._left = TOTAL + (128 + 4 * messages) * size

    def size(self, value: object) -> int:
        """The size of a value with all that it holds. What it holds twice counts twice, as it does in its text."""
        if isinstance(value, str):
            return sys.getsizeof(value) - _EMPTY
        if isinstance(value, int):
            return value.bit_length()
        if not isinstance(value, list | tuple | dict):
            return ELEMENT
        if id(value) not in self._sizes:
            held = [*value, *value.values()] if isinstance(value, dict) else value
            size = sum((self.size(element) + ELEMENT for element in held), ELEMENT)
            self._sizes[id(value)] = (value, self.allow(size))
        return self._sizes[id(value)][1]

    def allow(self, size: int) -> int:
        """Refuses a size that is too large, and returns it."""
        if size > self._largest:
            raise TemplateError("the model's chat template makes too large a value: stopped; try another file")
        return size

    def spend(self, size: int) -> None:
        """Counts a size as made."""
        self._left -= self.allow(size)
        if self._left < 0:
            raise TemplateError("the model's chat template makes more than a prompt: stopped; try another file")

    def made(self, value: Value) -> Value:
        """Counts a value as made, but not what a list refers to, and returns it."""
        size = self.size(value)
        if isinstance(value, list | tuple | dict):
            size = ELEMENT * len(value)
        self.spend(size + (0 if isinstance(value, int | float) else ELEMENT))
        return value


def printf(size: Size, template: str, *values: object, **named: object) -> int:
    """The most that `template % values` can have."""
    if re.search(r"%[-+ #0-9.]*\*", template):
        raise TemplateError("the model's chat template computes the width of a field: refused; try another file")
    return _filled(size, template, template.count("%"), [*values, *named.values()])


def _format(size: Size, template: str, *values: object, **named: object) -> int:
    if re.search(r"\{[^{}]*\{", template.replace("{{", "")):
        raise TemplateError("the model's chat template computes the width of a field: refused; try another file")
    return _filled(size, template, template.count("{"), [*values, *named.values()])


def _filled(size: Size, template: str, fields: int, values: list[object]) -> int:
    width = max(map(int, re.findall(r"\d+", template)), default=0)
    return size(template) + fields * (4 * width + _FIELD + size(values))


def _padded(_size: Size, _text: object, width: int = 80, *_: object) -> int:
    return 4 * int(width)


def _expanded(size: Size, text: str, tabsize: int = 8) -> int:
    return size(text) + 4 * int(tabsize) * text.count("\t")


def _replaced(size: Size, text: object, old: object, new: object, *_: object, **__: object) -> int:
    return size(text) + size(new) * str(text).count(str(old))


def _indented(size: Size, text: str, width: int | str = 4, *_: object, **__: object) -> int:
    return size(text) + (size(width) if isinstance(width, str) else 4 * int(width)) * (text.count("\n") + 1)


def _joined(size: Size, values: Sequence[object], d: object = "", *_: object, **__: object) -> int:
    return size(values) + size(d) * len(values)


def _cut(_size: Size, _values: object, count: int, *_: object, **__: object) -> int:
    return ELEMENT * int(count)


def _rounded(_size: Size, _number: object, precision: int = 0, *_: object, **__: object) -> int:
    return 1024 * abs(int(precision))


def _summed(_size: Size, _values: object, _attribute: object = None, start: object = 0, **_: object) -> int:
    if not isinstance(start, int | float):
        raise TemplateError("the model's chat template adds up lists: refused; try another file")
    return 0


METHODS: Final = MappingProxyType[str, Callable[..., int]](
    {
        "center": _padded,
        "ljust": _padded,
        "rjust": _padded,
        "zfill": _padded,
        "expandtabs": _expanded,
        "format": _format,
        "format_map": lambda size, template, values: _format(size, template, values),
        "join": lambda size, text, values: _joined(size, values, text),
        "replace": _replaced,
    }
)
"""How large the results of the methods of a string that can outgrow it would be."""

FILTERS: Final = MappingProxyType[str, Callable[..., int]](
    {
        "batch": _cut,
        "center": _padded,
        "format": printf,
        "indent": _indented,
        "join": _joined,
        "replace": _replaced,
        "round": _rounded,
        "slice": _cut,
        "sum": _summed,
    }
)
"""The same for filters."""
