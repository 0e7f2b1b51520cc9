"""How much time may go into trying a draft model again that does not pay, on one kind of text."""

from __future__ import annotations

from dataclasses import dataclass

_FIRST_SHARE, _LAST_SHARE = 0.08, 0.012
"""The share of the time that may go into trying the draft model again; a failure halves it."""

_AT_LAST = 256
"""After so many rounds without it the draft model is tried again whatever it has to read first."""

_REMEMBERED = 0.4
"""What the trials of the answers before count for when the next one begins: it may be easier or harder to draft for."""

_IN_VAIN = 0.1
"""An answer of which a smaller share of the tried tokens stood was drafted for in vain. Behind n such answers the next
one is different with a chance of about 1 / (n + 2), by Laplace's rule of succession, and more is remembered."""


@dataclass(slots=True)
class Tries:
    """Of a kind of text: the rounds since the draft model was used, and the share of the time that trying may take.

    Of the answer of now: how many tokens were compared, and how many of them stood. `in_vain` counts the answers before
    that were drafted for in vain, one behind the other.
    """

    idle: int = 0
    share: float = _FIRST_SHARE
    compared: int = 0
    stood: int = 0
    in_vain: int = 0

    def begin(self) -> float:
        """Another answer begins; what the trials of those before count for: all, where the last one had none."""
        if not self.compared:
            return 1.0
        self.in_vain = self.in_vain + 1 if self.stood < _IN_VAIN * self.compared else 0
        self.compared = self.stood = 0
        return 1 - (1 - _REMEMBERED) / (1 + self.in_vain)

    @property
    def least(self) -> float:
        """The share that is left behind many failures: the smaller, the less an answer promises."""
        return _LAST_SHARE / (1 + self.in_vain / 2)

    def tried(self, compared: int, stood: int, *, failed: bool) -> None:
        """The draft model was used, as a trial that `failed` or not."""
        self.idle = 0
        self.share = max(self.share / 2, self.least) if failed else _FIRST_SHARE
        self.compared += compared
        self.stood += stood

    def affords(self, cost_ms: float, share: float, round_ms: float) -> bool:
        """Whether a trial at this cost takes no more than a share of the idle rounds' time, or is due at last."""
        return cost_ms <= share * self.idle * round_ms or self.idle >= _AT_LAST
