"""How much a drafter should sharpen its distribution: learned from the rounds themselves, without extra passes.

Under the coupled rule target and drafter draw with the same Gumbel noise g, and any proposal is lossless. So a drafter
may propose argmax β·log q + g, the draw from the distribution proportional to q^β. Large models are surer than small
ones, hence a β above 1 usually agrees more often with the target. After a round the target's token and the noise are
known for each compared token, and show for every β whether it would have proposed that token.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.candidates import Candidates

POWERS = (0.7, 1.0, 1.4, 2.0, 3.0, 5.0)
"""The values of β that are compared."""

_FADE = 0.99
"""How much of its weight a token keeps with each further one on which the powers disagree."""

_LEAD = 3.0
"""Another power than 1 must have agreed with this many more of the remembered tokens."""


class Sharpness:
    """What is known about one drafter on one kind of text."""

    def __init__(self) -> None:
        self._agreed: NDArray[np.float64] = np.zeros(len(POWERS))

    @property
    def known(self) -> bool:
        """Whether any token distinguished powers."""
        return bool(self._agreed.any())

    @property
    def best(self) -> float:
        """The power that agreed with the target most often; 1 unless another one leads clearly."""
        leads = self._agreed - self._agreed[POWERS.index(1.0)]
        index = int(leads.argmax())
        return POWERS[index] if leads[index] >= _LEAD else 1.0

    def observe(self, row: Candidates, noise: NDArray[np.float64], token: int, used: float) -> None:
        """Learns from a token of the target: `row` is what the drafter drew from, sharpened by `used`, with `noise`
        [n] for each of its candidates."""
        scores = np.outer(np.array(POWERS) / used, row.log_p) + noise
        agreed = row.ids[scores.argmax(axis=1)] == token
        if agreed.any() and not agreed.all():
            self._agreed = self._agreed * _FADE + agreed

    def to_json(self) -> list[float]:
        """What to keep for the next start."""
        return [round(count, 3) for count in self._agreed.tolist()]

    def take(self, counts: Sequence[float]) -> None:
        """Reads what `to_json` wrote. Raises TypeError or ValueError for anything else."""
        agreed = np.array(counts, np.float64)
        if agreed.shape != self._agreed.shape or not np.isfinite(agreed).all() or agreed.min() < 0:
            raise ValueError("these are not counts of tokens")
        self._agreed = agreed
