"""The sampling parameters, with llama.cpp's names and defaults."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

from specchat_engine.errors import SettingError

_RANGES: dict[str, tuple[float, float, str]] = {
    "temperature": (0.0, 100.0, "0 is greedy, 0.8 is usual"),
    "top_k": (0, 2**31 - 1, "0 keeps all"),
    "top_p": (0.0, 1.0, "1 keeps all"),
    "min_p": (0.0, 1.0, "0 keeps all"),
    "typical_p": (0.0, 1.0, "1 keeps all"),
    "repeat_penalty": (1e-3, 100.0, "1 is off"),
    "frequency_penalty": (-10.0, 10.0, "0 is off"),
    "presence_penalty": (-10.0, 10.0, "0 is off"),
    "penalty_last_n": (-1, 2**31 - 1, "0 is off, -1 the whole context"),
}


@dataclass(frozen=True, slots=True)
class SamplingParams:
    """How the next token is drawn, in llama.cpp's order: penalties, top-k, typical-p, top-p, min-p, temperature.

    Raises SettingError for a value out of range or not finite.
    """

    temperature: float = 0.8
    top_k: int = 40
    top_p: float = 0.95
    min_p: float = 0.05
    typical_p: float = 1.0
    repeat_penalty: float = 1.0
    frequency_penalty: float = 0.0
    presence_penalty: float = 0.0
    penalty_last_n: int = 64

    def __post_init__(self) -> None:
        for field in fields(self):
            low, high, hint = _RANGES[field.name]
            value = getattr(self, field.name)
            if not isinstance(value, int | float) or not math.isfinite(value) or not low <= value <= high:
                raise SettingError(f"{field.name} is {value}: use {low:g} to {high:g} ({hint})")

    @property
    def penalises(self) -> bool:
        """Whether any penalty depends on the tokens before."""
        active = (self.repeat_penalty, self.frequency_penalty, self.presence_penalty) != (1.0, 0.0, 0.0)
        return active and self.penalty_last_n != 0
