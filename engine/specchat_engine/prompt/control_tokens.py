"""Keeps control tokens out of what others wrote: a text that spells one out stays text.

A mark is put inside each such text before the template runs. The prompt is then cut at the marks, and its parts are
tokenized one by one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_PHAISTOS_DISC = 0x101D0
_PLAIN_NAME = re.compile(r"[\w$.:/@, -]*")
"""Names that cannot be part of a control token, whatever a template writes around them."""


def guarded(values: Mapping[str, Any], controls: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The same values with marks inside all texts that spell one of the `controls`, and the mark.

    Templates write names between brackets, as in `<function=name>`. So other names than usual ones, which are keys and
    values of "name", get marks around them too.
    """
    mark = unused_sign(values, controls)
    parted = [control for control in controls if len(control) > 1]
    beginnings = {control[0] for control in parted}

    def guard(text: str) -> str:
        if beginnings.isdisjoint(text):
            return text
        for control in parted:
            while control in text:
                text = text.replace(control, control[0] + mark + control[1:])
        return text

    def guard_name(name: str) -> str:
        return guard(name) if _PLAIN_NAME.fullmatch(name) else mark + guard(name) + mark

    return {key: _changed(value, guard, guard_name) for key, value in values.items()}, mark


def unused_sign(values: Mapping[str, Any], controls: Sequence[str]) -> str:
    """A character that is in none of these texts and controls."""
    return _unused(set().union(*controls, *_texts(values)))


def _changed(value: Any, text: Callable[[str], str], name: Callable[[str], str]) -> Any:
    """A value with all its texts changed, its names in a way of their own."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {
            name(key) if isinstance(key, str) else key: name(item)
            if key == "name" and isinstance(item, str)
            else _changed(item, text, name)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_changed(item, text, name) for item in value]
    return value


def _texts(value: Any) -> Iterator[str]:
    """All texts in a value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _texts(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


def _unused(characters: set[str]) -> str:
    """Another character than these: a sign that nobody writes, and that no escape replaces in JSON or a list's text."""
    others = map(chr, range(_PHAISTOS_DISC, sys.maxunicode))
    return next(character for character in others if character.isprintable() and character not in characters)
