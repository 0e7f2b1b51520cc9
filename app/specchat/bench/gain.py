"""An estimated ratio, and the measured gain of a draft model. It needs no numpy, which the interface does not load."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Estimate:
    """A median or mean, its quartiles (None for a mean over kinds), and its bootstrap 95 % interval (None for a single
    pair)."""

    value: float
    quartiles: tuple[float, float] | None
    interval: tuple[float, float] | None
    pairs: int

    @property
    def is_gain(self) -> bool:
        """True if the ratio is above 1 by more than chance."""
        return self.interval is not None and self.interval[0] > 1

    @property
    def words(self) -> str:
        """The ratio and its interval: `1.32 × plain (95 % 1.21 to 1.40)`."""
        interval = f" (95 % {self.interval[0]:.2f} to {self.interval[1]:.2f})" if self.interval else ""
        return f"{self.value:.2f} × plain{interval}"


@dataclass(frozen=True, slots=True)
class Gain:
    """Speed over plain decoding, prompts included, and both speeds in tokens per second.

    `alpha` is None if nothing was compared.
    """

    speedup: Estimate
    tokens_per_second: float
    plain_tokens_per_second: float
    alpha: float | None

    @property
    def words(self) -> str:
        """In one line: `1.42 × plain (95 % 1.21 to 1.60), 55.1 tokens/s`."""
        return f"{self.speedup.words}, {self.tokens_per_second:.1f} tokens/s"
