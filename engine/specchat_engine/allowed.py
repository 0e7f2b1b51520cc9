"""Which values a setting may have: declared with the field that holds it, checked whenever settings are made."""

from __future__ import annotations

import math
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum, auto
from typing import Any, Final

from specchat_engine.errors import SettingError

AUTO: Final = "auto"
"""The word for a value that the engine chooses itself."""


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`; with `auto` the word "auto" as well. `hint` says what some of them mean."""

    low: float
    high: float
    hint: str = ""
    whole: bool = False
    auto: bool = False

    def allows(self, value: object) -> bool:
        """True for a number in the range, and for "auto" where that is a value."""
        if isinstance(value, str):
            return self.auto and value == AUTO
        number = isinstance(value, int) or (isinstance(value, float) and not self.whole and math.isfinite(value))
        return number and self.low <= value <= self.high  # type: ignore[operator] # a number, by the line above

    @property
    def remedy(self) -> str:
        """What to use, for a message about a value that is not allowed."""
        kind = "a whole number" if self.whole else "a number"
        bounds = (str(each) if isinstance(each, int) else f"{each:g}" for each in (self.low, self.high))
        hint = f" ({self.hint})" if self.hint else ""
        return f"use {'auto, or ' if self.auto else ''}{kind} from {' to '.join(bounds)}{hint}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """One of a few names, or of `others`, in words, which only whoever uses the value can check."""

    names: tuple[str, ...]
    others: str = ""

    def allows(self, value: object) -> bool:
        """True for one of the names, and for any other if there may be others."""
        return value in self.names or (bool(self.others) and isinstance(value, str) and value != "")

    @property
    def remedy(self) -> str:
        """What to use, for a message about a value that is not allowed."""
        *first, last = (*self.names, self.others) if self.others else self.names
        return f"use {', '.join(first)} or {last}" if first else f"use {last}"


Rule = Range | OneOf


class Traced(Enum):
    """Where the first line of a trace has a setting, always or if it is not the default.

    Bundles for bug reports show the line's own settings, so these are not texts of the user.
    """

    LINE = auto()
    LINE_IF_SET = auto()
    PARAMS = auto()
    PARAMS_IF_SET = auto()


def setting(default: Any, rule: Rule, traced: Traced | None = None) -> Any:
    """A field of a dataclass with its default, the values that it may have, and its place in traces."""
    return field(default=default, metadata={"rule": rule, "traced": traced})


def traced_names(settings: type, *places: Traced) -> tuple[str, ...]:
    """The fields of a dataclass that have one of these places in traces."""
    return tuple(each.name for each in fields(settings) if each.metadata.get("traced") in places)


def rule_of(settings: type, name: str) -> Rule | None:
    """The values that a field of a dataclass may have; None if it declares none."""
    rule: Rule | None = next(each for each in fields(settings) if each.name == name).metadata.get("rule")
    return rule


def default_of(settings: type, name: str) -> Any:
    """The default of a field of a dataclass. Raises ValueError if it has none."""
    default = next(each for each in fields(settings) if each.name == name).default
    if default is MISSING:
        raise ValueError(f"{settings.__name__}.{name} has no default")
    return default


def check(settings: Any) -> None:
    """Raises SettingError for the first field of a dataclass with a value that it may not have."""
    for each in fields(settings):
        rule: Rule | None = each.metadata.get("rule")
        value = getattr(settings, each.name)
        if rule is not None and not rule.allows(value):
            raise SettingError(f"{each.name} is {value!r}: {rule.remedy}")
