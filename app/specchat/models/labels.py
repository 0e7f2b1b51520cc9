"""Model names, sizes and durations as users read them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from specchat.terminal.filter import clean_line

_KILO = 1000
_SIZE_IN_NAME = re.compile(r"(?<![\w.])\d+(\.\d+)?[MB]\b", re.IGNORECASE)
"""A number of parameters in a model's name."""

_ACTIVE = re.compile(r"[\s-]A\d+(\.\d+)?B\b", re.IGNORECASE)
"""How many of them compute a token, after that number."""


class Named(Protocol):
    """A loaded model."""

    @property
    def name(self) -> str:
        """The name in its header."""

    @property
    def n_params(self) -> int:
        """The number of parameters; 0 if it is not known."""


_HEADS = {"eagle3": "EAGLE-3", "mtp": "MTP", "medusa": "Medusa", "mlp": "MLP"}


def pair_name(target: Named, draft: Named | None, head: str = "", further: Sequence[Named] = ()) -> str:
    """The models with their sizes, and the kind of the head: `guide 18M ⇠ draft 2M + other draft 3M + EAGLE-3`."""
    drafts = [model_name(model) for model in (draft, *further) if model]
    drafting = [*drafts, *([_HEADS.get(head, head)] if head else [])]
    return " ⇠ ".join([model_name(target), *([" + ".join(drafting)] if drafting else [])])


def model_name(model: Named) -> str:
    """A model's name and size: `guide 18M`. The size is left out if the name already contains it."""
    name = clean_line(model.name)
    if _SIZE_IN_NAME.search(name):
        return name
    for unit, scale in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if model.n_params >= scale:
            size = model.n_params / scale
            return f"{name} {size:.1f}{unit}" if unit == "B" and size < 10 else f"{name} {size:.0f}{unit}"
    return name


def brief_name(model: Named) -> str:
    """A model's name up to its size: `Qwen2.5 Coder 0.5B` for a `Qwen2.5 Coder 0.5B Instruct AWQ`."""
    name = model_name(model)
    size = _SIZE_IN_NAME.search(name)
    if size is None:
        return name
    active = _ACTIVE.match(name, size.end())
    return name[: active.end() if active else size.end()]


def brief_pair(target: Named, draft: Named | None, head: str = "", further: Sequence[Named] = ()) -> str:
    """The models in as few words as name them: `Qwen2.5 Coder 1.5B ⇠ Coder 0.5B`."""
    own = brief_name(target)
    drafts = [_without_family(brief_name(model), own) for model in (draft, *further) if model]
    drafting = [*drafts, *([_HEADS.get(head, head)] if head else [])]
    return " ⇠ ".join([own, *([" + ".join(drafting)] if drafting else [])])


def _without_family(draft: str, target: str) -> str:
    """A draft's name without the words that the target's begins with, too; two words stay."""
    words, others = draft.split(), target.split()
    while len(words) > 2 and others and words[0] == others[0]:
        words, others = words[1:], others[1:]
    return " ".join(words)


@dataclass(frozen=True, slots=True)
class _Recorded:
    name: str
    n_params: int


def recorded_pair(start: Mapping[str, Any]) -> str:
    """The names of `target`, `draft` and `head` in the start line of a trace; empty if they were not recorded."""
    target, draft = _recorded(start, "target"), _recorded(start, "draft")
    return pair_name(target, draft, (start.get("head") or {}).get("name", "")) if target else ""


def recorded_target(start: Mapping[str, Any]) -> str:
    """The name of the target in the start line of a trace; empty if it was not recorded."""
    target = _recorded(start, "target")
    return brief_name(target) if target else ""


def _recorded(start: Mapping[str, Any], role: str) -> _Recorded | None:
    described = start.get(role)
    return _Recorded(described["name"], described["n_params"]) if described else None


def format_size(size: float) -> str:
    """A number of bytes in decimal units, as disks and the hub count them: `4.4 GB`."""
    if size < _KILO:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB", "TB", "PB"):
        size /= _KILO
        if size < _KILO:
            return f"{size:.1f} {unit}"
    return f"{size / _KILO:.1f} EB"


def format_duration(seconds: float) -> str:
    """A duration: `0:07`, `12:30`, `2:05:00`."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def format_parameters(number: int | None) -> str:
    """A number of parameters: `1.5B`, `135M`; empty if it is not known."""
    for unit, scale in (("T", 1e12), ("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if number and number >= scale:
            scaled = number / scale
            return f"{scaled:.3g}{unit}" if scaled < 999.5 else f"{scaled:.0f}{unit}"
    return str(number) if number else ""
