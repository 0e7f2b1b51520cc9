"""How the value of a setting is read: from text, as flags and variables hold it, or from TOML."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from specchat.settings.paths import expanded
from specchat_engine.allowed import AUTO, OneOf, Range
from specchat_engine.sampling.params import SamplingParams

_BIAS = re.compile(r"\s*(\d+)\s*(?:=|(?=[+-]))\s*(\S+)\s*")

_HOST = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")

_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://[^/\s]+", re.IGNORECASE)


class BadValue(ValueError):
    """A value that a setting cannot have: what to use instead and, for a list or table, which part is wrong."""

    def __init__(self, remedy: str, part: object = None, place: str = "") -> None:
        super().__init__(remedy)
        self.remedy = remedy
        self.part = part
        self.place = place

    def about(self, name: str, value: object) -> str:
        """The message: what the setting is called, its value, and what to use."""
        wrong = value if self.part is None else self.part
        return f"{name}{self.place} is {wrong!r}: {self.remedy}"


class ValueKind(Protocol):
    """A kind of value."""

    @property
    def metavar(self) -> str:
        """The placeholder for a value in the help."""
        ...

    def read(self, value: object) -> Any:
        """The value that a text or a TOML value stands for. Raises BadValue for one that is not allowed."""
        ...


@dataclass(frozen=True, slots=True)
class Number:
    """A number, or the word "auto" if the range has it."""

    rule: Range

    @property
    def metavar(self) -> str:
        """N for whole numbers, X for others."""
        return "N" if self.rule.whole else "X"

    def read(self, value: object) -> Any:
        """An int, a float, or "auto"; a decimal comma is read, too."""
        number = value
        if isinstance(value, str):
            number = value.strip().lower()
            if number != AUTO:
                try:
                    number = int(number) if self.rule.whole else float(number.replace(",", "."))
                except ValueError:
                    raise BadValue(self.rule.remedy) from None
        elif isinstance(value, float) and self.rule.whole and value.is_integer():
            number = int(value)
        if isinstance(value, bool) or not self.rule.allows(number):
            raise BadValue(self.rule.remedy)
        return number


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few names, or of `others`, which are looked for when none of these was named."""

    rule: OneOf
    metavar: str = "NAME"
    others: Callable[[], Collection[str]] = tuple

    def read(self, value: object) -> str:
        """The name, exactly as it is."""
        if not isinstance(value, str) or not (value in self.rule.names or value in self.others()):
            raise BadValue(OneOf((*self.rule.names, *self.others())).remedy)
        return value

    def beginning(self, text: str) -> str:
        """The first name that begins with the text. Raises BadValue if there is none."""
        for name in self.rule.names:
            if name.startswith(text.strip().lower()):
                return name
        raise BadValue(self.rule.remedy)


@dataclass(frozen=True, slots=True)
class OnOff:
    """Something that is on or off."""

    metavar: str = "on|off"

    def read(self, value: object) -> bool:
        """True for on. TOML's own true and false are read, too."""
        if isinstance(value, bool):
            return value
        word = value.strip().lower() if isinstance(value, str) else ""
        if word not in ("on", "off", "true", "false"):
            raise BadValue("use on or off")
        return word in ("on", "true")


@dataclass(frozen=True, slots=True)
class Text:
    """Any text."""

    metavar: str = "TEXT"

    def read(self, value: object) -> str:
        """The text as it is."""
        if not isinstance(value, str):
            raise BadValue("use a text")
        return value


@dataclass(frozen=True, slots=True)
class File:
    """A path, or for models a name in the library."""

    metavar: str = "FILE"
    is_model: bool = False

    def read(self, value: object) -> Path:
        """The path, with the home folder in place of `~`."""
        if not isinstance(value, str | Path):
            raise BadValue("use a text")
        return expanded(Path(value))

    def beside(self, folder: Path, value: str) -> Path:
        """The path in a folder; a name that cannot be a file there stays a name."""
        path = folder / expanded(Path(value))
        is_name = self.is_model and path.suffix.lower() != ".gguf" and not path.exists()
        return Path(value) if is_name else path


@dataclass(frozen=True, slots=True)
class ListOf:
    """A list, in text with commas between its parts."""

    metavar: str
    remedy: str
    part: Callable[[Any], Any]
    repeated: bool = False

    def read(self, value: object) -> tuple[Any, ...]:
        """The parts."""
        if isinstance(value, str):
            value = [part.strip() for part in value.split(",") if part.strip()]
        if not isinstance(value, list | tuple):
            raise BadValue(self.remedy)
        return tuple(self._read_part(part) for part in value)

    def _read_part(self, part: object) -> Any:
        try:
            return self.part(part)
        except (ValueError, TypeError):
            raise BadValue(self.remedy, part) from None


def device_name(part: object) -> str:
    """The name of a device. Raises ValueError for anything but a text."""
    if not isinstance(part, str):
        raise ValueError(part)
    return part


def share(part: str | float) -> float:
    """One device's share of a model. Raises ValueError for anything but a number of 0 or more."""
    number = float(part)
    if not 0 <= number < math.inf:
        raise ValueError(part)
    return number


def api_key(part: object) -> str:
    """A key for clients of the server. Raises ValueError for an empty one, and for one that no header can hold."""
    if not isinstance(part, str) or not part.isascii() or not part.isprintable() or " " in part or not part:
        raise ValueError(part)
    return part


def host_name(part: object) -> str:
    """The name of a host. Raises ValueError for anything else, also for one with a port."""
    if not isinstance(part, str) or not _HOST.fullmatch(part):
        raise ValueError(part)
    return part


def origin(part: object) -> str:
    """The origin of web pages, or `*` for all. Raises ValueError for anything else."""
    if not isinstance(part, str) or not (part == "*" or _ORIGIN.fullmatch(part)):
        raise ValueError(part)
    return part


def bias(part: object) -> tuple[int, float]:
    """A token id and its bias from `TOKEN=BIAS`, llama.cpp's `TOKEN+BIAS`, or a pair. Raises ValueError."""
    if isinstance(part, str):
        match = _BIAS.fullmatch(part)
        if match is None:
            raise ValueError(part)
        part = int(match[1]), float(match[2])
    (pair,) = SamplingParams(logit_bias=(part,)).logit_bias  # type: ignore[arg-type] # checked there
    return pair


@dataclass(frozen=True, slots=True)
class KeyTable:
    """Keys of the app: a table of ids and keys, in text the words `ID=KEY`, such as `chat.knobs=f4,ctrl+k`."""

    metavar: str = "ID=KEY"

    def read(self, value: object) -> dict[str, str]:
        """Keys by the id of what they do."""
        if isinstance(value, str):
            pairs = [word.partition("=") for word in value.split()]
            for word, sign, key in pairs:
                if not (word and sign and key):
                    raise BadValue("use ID=KEY, such as chat.knobs=f4", word + sign + key)
            return {word: key for word, _, key in pairs}
        if not isinstance(value, dict):
            raise BadValue('use a table, such as [keys] and below it "chat.knobs" = "f4"')
        for name, key in value.items():
            if not isinstance(key, str):
                raise BadValue("use a text", key, f".{name}")
        return dict(value)
