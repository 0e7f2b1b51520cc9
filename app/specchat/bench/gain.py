"""The measured gain of a draft model. A module of its own because the interface uses it without the benchmark."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Gain:
    """Speed over plain decoding, prompts included, with its 95 % interval, and both speeds in tokens per second.

    `interval` is None for a single pair of answers; `alpha` is None if nothing was compared.
    """

    speedup: float
    interval: tuple[float, float] | None
    tokens_per_second: float
    plain_tokens_per_second: float
    alpha: float | None

    @property
    def is_sure(self) -> bool:
        """True if the gain is more than chance."""
        return self.interval is not None and self.interval[0] > 1

    @property
    def words(self) -> str:
        """In one line: `1.42 × plain (95 % 1.21 to 1.60), 55.1 tokens/s`."""
        interval = f" (95 % {self.interval[0]:.2f} to {self.interval[1]:.2f})" if self.interval else ""
        return f"{self.speedup:.2f} × plain{interval}, {self.tokens_per_second:.1f} tokens/s"
