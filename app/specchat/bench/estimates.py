"""Ratios of speeds that belong together, their spread, and how sure one can be of them."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

RESAMPLES = 2000
LEVELS = (0.025, 0.975)
SEED = 20260

Key = TypeVar("Key", bound=Hashable)
Ratios = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A middle value, the quartiles of what it is the middle of (None for a mean over kinds), and the bootstrap's 95 %
    interval of it (None where a single pair says nothing of its own chance)."""

    value: float
    quartiles: tuple[float, float] | None
    interval: tuple[float, float] | None
    pairs: int

    def to_json(self) -> dict[str, Any]:
        """The estimate as it stands in the document."""
        return {"value": self.value, "quartiles": self.quartiles, "interval": self.interval, "pairs": self.pairs}


def paired_ratios(speeds: Mapping[Key, float], base: Mapping[Key, float]) -> Ratios:
    """[n]: each speed over the base's of the same key; what has no counterpart is left out."""
    return np.array([speed / base[key] for key, speed in speeds.items() if key in base], dtype=np.float64)


def estimate(ratios: Ratios) -> Estimate | None:
    """The median of ratios [n], None where there are none.

    The interval comes from the paired bootstrap: whole pairs are drawn again with replacement, so that what both
    answers of a pair share cancels out. Source: Efron, Tibshirani, "An Introduction to the Bootstrap", chapter 13.
    """
    if not len(ratios):
        return None
    low, high = np.quantile(ratios, (0.25, 0.75))
    interval = interval_of(_resampled(ratios, np.random.default_rng(SEED))) if len(ratios) > 1 else None
    return Estimate(float(np.median(ratios)), (float(low), float(high)), interval, len(ratios))


def geometric_mean(cells: Sequence[Ratios]) -> Estimate | None:
    """The geometric mean of the cells' medians, each cell [n_i] counting the same; empty cells are left out.

    In the bootstrap each cell is drawn again by itself.
    """
    filled = [cell for cell in cells if len(cell)]
    if not filled:
        return None
    chance = np.random.default_rng(SEED)
    value = float(np.exp(np.mean([np.log(np.median(cell)) for cell in filled])))
    resampled = np.exp(np.mean([np.log(_resampled(cell, chance)) for cell in filled], axis=0))
    pairs = sum(len(cell) for cell in filled)
    certain = all(len(cell) > 1 for cell in filled)
    return Estimate(value, None, interval_of(resampled) if certain else None, pairs)


def _resampled(ratios: Ratios, chance: np.random.Generator) -> Ratios:
    """[RESAMPLES]: medians of as many ratios, drawn with replacement."""
    picks = chance.integers(0, len(ratios), size=(RESAMPLES, len(ratios)))
    return np.asarray(np.median(ratios[picks], axis=1), dtype=np.float64)


def interval_of(values: Ratios) -> tuple[float, float]:
    """The 95 % interval of what a bootstrap gave."""
    low, high = np.quantile(values, LEVELS)
    return float(low), float(high)
