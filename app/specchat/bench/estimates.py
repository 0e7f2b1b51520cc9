"""Ratios of paired speeds with their quartiles and bootstrap intervals."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from specchat.bench.gain import Estimate

RESAMPLES = 2000
LEVELS = (0.025, 0.975)
SEED = 20260

Key = TypeVar("Key", bound=Hashable)
Ratios = NDArray[np.float64]


def paired_ratios(speeds: Mapping[Key, float], base: Mapping[Key, float]) -> Ratios:
    """[n]: each speed / the base speed with the same key; speeds without a counterpart are left out."""
    return np.array([speed / base[key] for key, speed in speeds.items() if key in base], dtype=np.float64)


def estimate(ratios: Ratios) -> Estimate | None:
    """The median of ratios [n]; None without ratios.

    The interval is from the paired bootstrap, which resamples whole pairs, so that influences on both answers of a pair
    cancel out. Source: Efron, Tibshirani, "An Introduction to the Bootstrap", chapter 13.
    """
    if not len(ratios):
        return None
    low, high = np.quantile(ratios, (0.25, 0.75))
    interval = interval_of(_resampled(ratios, np.random.default_rng(SEED))) if len(ratios) > 1 else None
    return Estimate(float(np.median(ratios)), (float(low), float(high)), interval, len(ratios))


def geometric_mean(cells: Sequence[Ratios]) -> Estimate | None:
    """The geometric mean of the cells' medians. Each cell [n_i] has the same weight; empty cells are left out.

    The bootstrap resamples each cell separately.
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
    """[RESAMPLES]: medians of resampled ratios."""
    picks = chance.integers(0, len(ratios), size=(RESAMPLES, len(ratios)))
    return np.asarray(np.median(ratios[picks], axis=1), dtype=np.float64)


def interval_of(values: Ratios) -> tuple[float, float]:
    """The 95 % interval of bootstrapped values."""
    low, high = np.quantile(values, LEVELS)
    return float(low), float(high)
