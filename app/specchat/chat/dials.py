"""What can be turned while an answer streams, each with its steps and its way back from text. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from specchat.stats.rules import LOSSY_SIGN
from specchat_engine.errors import SettingError
from specchat_engine.settings import AUTO, LOSSY_VERIFIERS, SEARCHED, USUAL_K, VERIFIER_NAMES, Settings


class Dial(Protocol):
    """One setting that can be turned by steps or typed."""

    @property
    def label(self) -> str:
        """What stands before the value."""
        ...

    def text(self, settings: Settings) -> str:
        """The value as it is shown."""
        ...

    def turned(self, settings: Settings, steps: int) -> Settings:
        """The settings with this one so many steps further, at most to its end."""
        ...

    def typed(self, settings: Settings, text: str) -> Settings:
        """The settings with a typed value. Raises SettingError for one that it cannot have."""
        ...


@dataclass(frozen=True, slots=True)
class NumberDial:
    """A number of the settings, or of their sampling parameters. `zero` is what 0 means."""

    label: str
    name: str
    step: float
    high: float
    decimals: int = 0
    zero: str = ""
    sampling: bool = False

    def text(self, settings: Settings) -> str:
        """The value, with what it means where it is 0."""
        value = self._value(settings)
        return f"{value:.{self.decimals}f}" + (f" {self.zero}" if value == 0 and self.zero else "")

    def turned(self, settings: Settings, steps: int) -> Settings:
        """The next multiple of the step in this direction."""
        value = self._value(settings)
        turned = round((value + steps * self.step) / self.step) * self.step
        return self._with(settings, min(max(turned, 0), self.high))

    def typed(self, settings: Settings, text: str) -> Settings:
        """The typed number. Raises SettingError where it is none or out of range."""
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            raise SettingError(f"{self.label} is {text!r}: type a number") from None
        if not 0 <= value <= self.high:
            raise SettingError(f"{self.label} is {text}: use 0 to {self.high:g}")
        return self._with(settings, value)

    def _value(self, settings: Settings) -> float:
        return float(getattr(settings.sampling if self.sampling else settings, self.name))

    def _with(self, settings: Settings, value: float) -> Settings:
        number: Any = round(value, self.decimals) if self.decimals else int(value)
        if self.sampling:
            return replace(settings, sampling=replace(settings.sampling, **{self.name: number}))
        return replace(settings, **{self.name: number})


@dataclass(frozen=True, slots=True)
class ChoiceDial:
    """One of a few names; `label` is the setting's own. Those in `lossy` say so."""

    label: str
    choices: tuple[str, ...]
    lossy: tuple[str, ...] = ()

    def text(self, settings: Settings) -> str:
        """The chosen name, with a sign and a word where the choice is lossy."""
        chosen = self._chosen(settings)
        return f"{chosen} {LOSSY_SIGN}lossy" if chosen in self.lossy else chosen

    def turned(self, settings: Settings, steps: int) -> Settings:
        """The next name, round and round."""
        chosen = self._chosen(settings)
        place = self.choices.index(chosen) if chosen in self.choices else 0
        return self._with(settings, self.choices[(place + steps) % len(self.choices)])

    def typed(self, settings: Settings, text: str) -> Settings:
        """The name that begins so. Raises SettingError where there is none."""
        for choice in self.choices:
            if choice.startswith(text.strip()):
                return self._with(settings, choice)
        raise SettingError(f"the {self.label} is {text!r}: use {', '.join(self.choices)}")

    def _chosen(self, settings: Settings) -> str:
        return str(getattr(settings, self.label))

    def _with(self, settings: Settings, choice: str) -> Settings:
        chosen: dict[str, Any] = {self.label: choice}
        return replace(settings, **chosen)


@dataclass(frozen=True, slots=True)
class DraftLengthDial:
    """k: auto, 0 (plain decoding), and the numbers up to `high`; a step away from auto leads to the usual one."""

    high: int
    label: str = "k"

    def text(self, settings: Settings) -> str:
        """The value, with what 0 means."""
        return "0 plain" if settings.k == 0 else str(settings.k)

    def turned(self, settings: Settings, steps: int) -> Settings:
        """So many places further; below 0 lies auto."""
        if settings.k == AUTO and steps:
            steps -= 1 if steps > 0 else -1
        place = USUAL_K if settings.k == AUTO else settings.k
        return self._with(settings, min(max(place + steps, -1), self.high))

    def typed(self, settings: Settings, text: str) -> Settings:
        """The typed number, or auto. Raises SettingError for anything else."""
        if text.strip().lower() == AUTO:
            return self._with(settings, -1)
        if not text.strip().isdecimal() or int(text) > self.high:
            raise SettingError(f"k is {text!r}: use auto, or 0 to {self.high}")
        return self._with(settings, int(text))

    def _with(self, settings: Settings, place: int) -> Settings:
        return replace(settings, k=AUTO if place < 0 else place)


def dials(drafters: Sequence[str], k_max: int) -> tuple[Dial, ...]:
    """All dials, in the order in which they are shown."""
    return (
        DraftLengthDial(k_max),
        ChoiceDial("drafter", tuple(drafters)),
        ChoiceDial("verifier", VERIFIER_NAMES, LOSSY_VERIFIERS),
        NumberDial("temperature", "temperature", 0.1, 5.0, 2, "greedy", sampling=True),
        NumberDial("top-k", "top_k", 5, 100_000, 0, "all", sampling=True),
        NumberDial("top-p", "top_p", 0.05, 1.0, 2, sampling=True),
        NumberDial("min-p", "min_p", 0.01, 1.0, 2, "all", sampling=True),
        NumberDial("max tokens", "max_tokens", 64, 1_000_000, 0, "no limit"),
        ChoiceDial("lookup", SEARCHED),
    )
