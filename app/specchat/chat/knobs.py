"""Knobs: settings that change while the chat runs, by steps or by a typed value. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from specchat.settings.schema import SETTINGS
from specchat.settings.setting import Setting, Steps
from specchat.settings.values import BadValue, Choice, Number
from specchat.stats.line import LOSSY_SIGN
from specchat_engine.allowed import AUTO, OneOf
from specchat_engine.codec import from_json
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

Holder = TypeVar("Holder", Settings, LoadOptions)

_SMALLEST_CONTEXT = 512


@dataclass(frozen=True, slots=True)
class Knob(Generic[Holder]):
    """One setting of what holds it: the settings of the next round, or the options with which models are loaded.

    `kind` is the setting's own, or a narrower one if the loaded pair allows less.
    """

    setting: Setting
    kind: Number | Choice

    @property
    def key(self) -> str:
        """What it is called in `/set`."""
        return self.setting.typed

    @property
    def label(self) -> str:
        """What stands before the value."""
        return self._steps.label

    @property
    def names(self) -> tuple[str, ...]:
        """The words that it can be set to: the choices, "auto", and what stands for single numbers."""
        rule = self.kind.rule
        if isinstance(rule, OneOf):
            return rule.names
        words: tuple[str, ...] = tuple(word for word in self._steps.shown.values() if not word[0].isdecimal())
        return (AUTO, *words) if rule.auto else words

    def text(self, holder: Holder) -> str:
        """The value as it is shown, with what single values mean and a sign if a choice is lossy."""
        value = self._value(holder)
        if isinstance(value, str):
            return f"{value} {LOSSY_SIGN}lossy" if value in self._steps.lossy else value
        digits = f"{value:.{self._steps.decimals}f}" if self.setting.steps else f"{value:g}"
        return self._steps.shown.get(value, digits)

    def turned(self, holder: Holder, count: int) -> Holder:
        """The holder with this setting `count` steps further: names go round, numbers stop at their ends."""
        value = self._value(holder)
        if isinstance(self.kind, Choice):
            names = self.kind.rule.names
            index = names.index(value) if value in names else 0
            return self._with(holder, names[(index + count) % len(names)])
        return self._with(holder, self._stepped(value, count, self.kind)) if count else holder

    def typed(self, holder: Holder, text: str) -> Holder:
        """The holder with a typed value; the beginning of a name is enough. Raises SettingError."""
        for value, word in self._steps.shown.items():
            if text.strip().lower() == word.lower():
                return self._with(holder, int(value) if value == int(value) else value)
        try:
            read = self.kind.beginning(text) if isinstance(self.kind, Choice) else self.kind.read(text)
        except BadValue as error:
            raise SettingError(error.about(self.key, text)) from None
        return self._with(holder, read)

    @property
    def _steps(self) -> Steps:
        return self.setting.steps or Steps(label=self.key)

    def _stepped(self, value: float | str, count: int, kind: Number) -> float | str:
        steps, low = self._steps, kind.rule.low
        high = kind.rule.high if steps.end is None else steps.end
        if isinstance(value, str):  # auto
            value, count = steps.from_auto, count - (1 if count > 0 else -1)
        if steps.doubles:
            return _doubled(int(value), count, int(high))
        stepped = round((value + count * steps.size) / steps.size) * steps.size
        if kind.rule.auto and stepped < low:
            return AUTO
        stepped = min(max(stepped, low), high)
        return int(stepped) if kind.rule.whole else round(stepped, steps.decimals)

    def _value(self, holder: Settings | LoadOptions) -> Any:
        owner = holder.sampling if isinstance(holder, Settings) and self._is_sampling else holder
        return getattr(owner, self.setting.name)

    def _with(self, holder: Holder, value: Any) -> Holder:
        change: dict[str, Any] = {self.setting.name: value}
        if isinstance(holder, Settings) and self._is_sampling:
            change = {"sampling": replace(holder.sampling, **change)}
        return replace(holder, **change)

    @property
    def _is_sampling(self) -> bool:
        return self.setting.home is SamplingParams


def _doubled(value: int, count: int, high: int) -> int:
    """The context after so many doublings or halvings to powers of two; below the smallest is the model's own."""
    for _ in range(abs(count)):
        if count > 0:
            value = _SMALLEST_CONTEXT if value == 0 else min(2 ** value.bit_length(), high)
        else:
            value = 0 if value <= _SMALLEST_CONTEXT else 2 ** ((value - 1).bit_length() - 1)
    return value


def live_knobs(drafters: Sequence[str], k_max: int) -> dict[str, Knob[Settings]]:
    """Everything that changes from the next round on, by its name in `/set`, for a pair with these limits."""
    knobs: dict[str, Knob[Settings]] = {}
    for setting in SETTINGS:
        kind = setting.kind
        if setting.is_live and isinstance(kind, Number | Choice):
            if setting.key == "drafter":
                kind = Choice(OneOf(tuple(drafters)))
            elif setting.key == "k" and isinstance(kind, Number):
                kind = Number(replace(kind.rule, high=k_max))
            knobs[setting.typed] = Knob(setting, kind)
    return knobs


def panel_knobs(drafters: Sequence[str], k_max: int) -> tuple[Knob[Settings], ...]:
    """The live knobs that the panel shows, in its order."""
    return tuple(knob for knob in live_knobs(drafters, k_max).values() if knob.setting.steps is not None)


LOAD_KNOBS: Mapping[str, Knob[LoadOptions]] = {
    setting.typed: Knob(setting, setting.kind)
    for setting in SETTINGS
    if setting.is_loading and isinstance(setting.kind, Number | Choice)
}
"""What takes effect when the models are loaded again, except that threads do so at once, by its name in `/set`."""


def with_threads(options: LoadOptions, wanted: LoadOptions) -> LoadOptions:
    """The options with the threads of others, which need no reload."""
    return replace(options, threads=wanted.threads, threads_draft=wanted.threads_draft)


def settings_from(stored: Mapping[str, Any], drafters: Sequence[str], k_max: int) -> Settings:
    """The settings of a stored session, with a drafter and a k that the loaded pair has.

    Raises SettingError for values that are not allowed.
    """
    try:
        settings = from_json(Settings, stored)
    except (TypeError, ValueError, AttributeError) as error:
        raise SettingError(f"{error}: the present settings stay") from None
    if settings.drafter not in drafters:
        settings = replace(settings, drafter=drafters[0])
    return settings if settings.k == AUTO else replace(settings, k=min(settings.k, k_max))
