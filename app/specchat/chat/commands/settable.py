"""What `/set` can set: all dials, and the sampling parameters that have none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol

from specchat.chat.dials import ChoiceDial, DraftLengthDial, dials
from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import AUTO, Settings

ALIASES = {
    **{"temp": "temperature", "typical": "typical-p", "repeat-last-n": "penalty-last-n", "n": "max-tokens"},
    **{"ctx": "ctx-size", "c": "ctx-size", "context": "ctx-size", "ngl": "gpu-layers", "ngld": "gpu-layers-draft"},
    **{"t": "threads", "fa": "flash-attention", "ctk": "cache-type-k", "ctv": "cache-type-v"},
}
"""Names that the flags of the command line have."""


class Settable(Protocol):
    """A setting that takes a typed value, as every dial does."""

    @property
    def label(self) -> str:
        """What it is called."""
        ...

    def typed(self, settings: Settings, text: str) -> Settings:
        """The settings with a typed value. Raises SettingError for one that it cannot have."""
        ...


@dataclass(frozen=True, slots=True)
class Parameter:
    """A number among the sampling parameters, which know their ranges themselves."""

    name: str

    @property
    def label(self) -> str:
        """Its name in words of the command line."""
        return self.name.replace("_", "-")

    def typed(self, settings: Settings, text: str) -> Settings:
        """The typed number. Raises SettingError where it is none or out of range."""
        whole = isinstance(getattr(settings.sampling, self.name), int)
        try:
            value: dict[str, Any] = {self.name: int(text) if whole else float(text.replace(",", "."))}
        except ValueError:
            kind = "a whole number" if whole else "a number"
            raise SettingError(f"{self.label} is {text!r}: type {kind}") from None
        return replace(settings, sampling=replace(settings.sampling, **value))


def settables(drafters: Sequence[str], k_max: int) -> dict[str, Settable]:
    """Everything that can be set, by its key, in the order in which it is offered."""
    found: dict[str, Settable] = {dial.label.replace(" ", "-"): dial for dial in dials(drafters, k_max)}
    for field in fields(SamplingParams):
        if isinstance(field.default, int | float):
            found.setdefault(field.name.replace("_", "-"), Parameter(field.name))
    return found


def values(setting: Settable) -> tuple[str, ...]:
    """The words that it can be set to, none where it is a number."""
    if isinstance(setting, ChoiceDial):
        return setting.choices
    return (AUTO,) if isinstance(setting, DraftLengthDial) else ()
