"""What takes effect when the models are loaded again, threads at once; each with its steps and its way back. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from specchat_engine.errors import SettingError
from specchat_engine.load_options import CACHE_TYPES, FLASH_ATTENTION, THREADS_LIMIT, LoadOptions, ThreadCount
from specchat_engine.settings import AUTO

_SMALLEST_CONTEXT, _LARGEST_CONTEXT = 512, 2**20


class LoadDial(Protocol):
    """One option that can be turned by steps or typed. `key` is its name behind `/set`."""

    @property
    def key(self) -> str:
        """What it is called in commands."""
        ...

    @property
    def label(self) -> str:
        """What stands before the value."""
        ...

    def text(self, options: LoadOptions) -> str:
        """The value as it is shown."""
        ...

    def turned(self, options: LoadOptions, steps: int) -> LoadOptions:
        """The options with this one so many steps further, at most to its end."""
        ...

    def typed(self, options: LoadOptions, text: str) -> LoadOptions:
        """The options with a typed value. Raises SettingError for one that it cannot have."""
        ...


@dataclass(frozen=True, slots=True)
class ThreadsDial:
    """auto, which is measured, else a number; `zero` is what 0 means. It holds from the next pass on."""

    key: str
    label: str
    name: str
    zero: str

    def text(self, options: LoadOptions) -> str:
        """The number, or a word."""
        value = getattr(options, self.name)
        return self.zero if value == 0 else str(value)

    def turned(self, options: LoadOptions, steps: int) -> LoadOptions:
        """So many more or less; auto lies below 0."""
        value = getattr(options, self.name)
        turned = (-1 if value == AUTO else value) + steps
        return self._with(options, AUTO if turned < 0 else min(turned, THREADS_LIMIT))

    def typed(self, options: LoadOptions, text: str) -> LoadOptions:
        """auto, a number, or the word for 0."""
        word = text.strip().lower()
        if word != AUTO and word != self.zero and not word.isdecimal():
            raise SettingError(f"{self.key} is {text!r}: use 0 to {THREADS_LIMIT}, {AUTO}, {self.zero}")
        if word == AUTO:
            return self._with(options, AUTO)
        return self._with(options, 0 if word == self.zero else int(word))

    def _with(self, options: LoadOptions, value: ThreadCount) -> LoadOptions:
        chosen: dict[str, Any] = {self.name: value}
        return replace(options, **chosen)


@dataclass(frozen=True, slots=True)
class LoadNumber:
    """A whole number from `low` to `high`; `words` are what single values mean."""

    key: str
    label: str
    name: str
    low: int
    high: int
    words: Mapping[int, str] = field(default_factory=dict)

    def text(self, options: LoadOptions) -> str:
        """The number, or what it means."""
        value = self._value(options)
        return self.words.get(value, str(value))

    def turned(self, options: LoadOptions, steps: int) -> LoadOptions:
        """So many more or less."""
        return self._with(options, min(max(self._value(options) + steps, self.low), self.high))

    def typed(self, options: LoadOptions, text: str) -> LoadOptions:
        """The typed number, or one of the words."""
        for value, word in self.words.items():
            if text.strip().lower() == word:
                return self._with(options, value)
        try:
            value = int(text)
        except ValueError:
            value = self.low - 1
        if not self.low <= value <= self.high:
            words = "".join(f", {word}" for word in self.words.values())
            raise SettingError(f"{self.key} is {text!r}: use {max(self.low, 0)} to {self.high}{words}")
        return self._with(options, value)

    def _value(self, options: LoadOptions) -> int:
        value: int = getattr(options, self.name)
        return value

    def _with(self, options: LoadOptions, value: int) -> LoadOptions:
        chosen: dict[str, Any] = {self.name: value}
        return replace(options, **chosen)


@dataclass(frozen=True, slots=True)
class ContextDial(LoadNumber):
    """The context: a step doubles or halves it; below the smallest lies the model's own."""

    def turned(self, options: LoadOptions, steps: int) -> LoadOptions:
        """The next power of two in this direction."""
        value = self._value(options)
        for _ in range(abs(steps)):
            if steps > 0:
                value = _SMALLEST_CONTEXT if value == 0 else min(2 ** value.bit_length(), _LARGEST_CONTEXT)
            else:
                value = 0 if value <= _SMALLEST_CONTEXT else 2 ** ((value - 1).bit_length() - 1)
        return self._with(options, value)


@dataclass(frozen=True, slots=True)
class LoadName:
    """One of a few names."""

    key: str
    label: str
    name: str
    choices: tuple[str, ...]

    def text(self, options: LoadOptions) -> str:
        """The chosen name."""
        return str(getattr(options, self.name))

    def turned(self, options: LoadOptions, steps: int) -> LoadOptions:
        """The next name, round and round."""
        place = self.choices.index(self.text(options))
        return self._with(options, self.choices[(place + steps) % len(self.choices)])

    def typed(self, options: LoadOptions, text: str) -> LoadOptions:
        """The name that begins so."""
        for choice in self.choices:
            if choice.startswith(text.strip().lower()):
                return self._with(options, choice)
        raise SettingError(f"{self.key} is {text!r}: use {', '.join(self.choices)}")

    def _with(self, options: LoadOptions, choice: str) -> LoadOptions:
        chosen: dict[str, Any] = {self.name: choice}
        return replace(options, **chosen)


LOAD_DIALS: tuple[LoadDial, ...] = (
    ContextDial("ctx-size", "context", "n_ctx", 0, 2**24, {0: "model's"}),
    LoadNumber("gpu-layers", "GPU layers", "gpu_layers", -1, 10_000, {-1: "all", 0: "none"}),
    LoadNumber("gpu-layers-draft", "  of the draft", "gpu_layers_draft", -1, 10_000, {-1: "all", 0: "none"}),
    ThreadsDial("threads", "threads", "threads", "cores"),
    ThreadsDial("threads-draft", "  of the draft", "threads_draft", "the same"),
    LoadName("cache-type-k", "cache, keys", "cache_type_k", CACHE_TYPES),
    LoadName("cache-type-v", "cache, values", "cache_type_v", CACHE_TYPES),
    LoadName("flash-attention", "flash attn", "flash_attention", FLASH_ATTENTION),
)
"""All of them, in the order in which they are shown."""

LOADABLE: Mapping[str, LoadDial] = {dial.key: dial for dial in LOAD_DIALS}
"""By the key that `/set` takes."""


def with_threads(options: LoadOptions, wanted: LoadOptions) -> LoadOptions:
    """The options with the threads of others, which need no reload."""
    return replace(options, threads=wanted.threads, threads_draft=wanted.threads_draft)
