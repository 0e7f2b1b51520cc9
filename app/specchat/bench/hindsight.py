"""Compares the controller's choices with the best fixed setting of the same run, which is known only afterwards."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specchat.bench.plan import Arm
from specchat.bench.samples import Estimate, Sample
from specchat.bench.summary import ALL_KINDS, RESAMPLES, SEED, interval_of, kinds, speeds
from specchat_engine.settings import AUTO


@dataclass(frozen=True, slots=True)
class Hindsight:
    """An adaptive arm on one kind of text, and the best fixed arm there, plain decoding included.

    `end_to_end_ratio` compares answers to the same prompts, from the prompt to the last token. Over all kinds, each
    kind has its own best arm, and `best_fixed` is None. The bootstrap chooses the best arm anew in each resample, since
    a lucky arm is more easily the best. For the same reason, equally fast arms give a ratio slightly below 1.
    """

    temperature: float
    kind: str
    arm: Arm
    best_fixed: Arm | None
    end_to_end_ratio: Estimate


def hindsight(samples: Sequence[Sample], arms: Sequence[Arm], temperature: float) -> list[Hindsight]:
    """Each adaptive arm on each kind, then over all kinds if there are several; empty without adaptive arms."""
    taken = [sample for sample in samples if sample.temperature == temperature]
    fixed = [arm for arm in arms if arm.k != AUTO]
    comparisons = []
    for own in (arm for arm in arms if arm.k == AUTO):
        chance = np.random.default_rng(SEED)
        cells: list[tuple[Hindsight, NDArray[np.float64] | None]] = []
        for kind in kinds(taken):
            ratios = _ratios([sample for sample in taken if sample.kind == kind], own, fixed)
            if ratios.size:
                cells.append(_cell(ratios, temperature, kind, own, fixed, chance))
        comparisons += [cell for cell, _ in cells]
        if len(cells) > 1:
            comparisons.append(_over_all(cells, temperature, own))
    return comparisons


def _ratios(cell: Iterable[Sample], own: Arm, fixed: Sequence[Arm]) -> NDArray[np.float64]:
    """[arms, pairs]: the adaptive speed / each fixed arm's speed, for prompts that all of them answered."""
    cell = list(cell)
    by_arm = {
        arm: speeds((sample for sample in cell if sample.arm == arm), lambda sample: sample.end_to_end_speed)
        for arm in (own, *fixed)
    }
    common = [pair for pair in by_arm[own] if all(pair in by_arm[arm] for arm in fixed)]
    return np.array([[by_arm[own][pair] / by_arm[arm][pair] for pair in common] for arm in fixed], dtype=np.float64)


def _cell(
    ratios: NDArray[np.float64],
    temperature: float,
    kind: str,
    own: Arm,
    fixed: Sequence[Arm],
    chance: np.random.Generator,
) -> tuple[Hindsight, NDArray[np.float64] | None]:
    """The comparison and its values [RESAMPLES] on resampled pairs, which are None for a single pair."""
    medians = np.median(ratios, axis=1)
    best, pairs = int(np.argmin(medians)), ratios.shape[1]
    resampled = None
    if pairs > 1:
        picks = chance.integers(0, pairs, size=(RESAMPLES, pairs))
        resampled = np.median(ratios[:, picks], axis=2).min(axis=0)
    low, high = np.quantile(ratios[best], (0.25, 0.75)).tolist()
    interval = interval_of(resampled) if resampled is not None else None
    estimate = Estimate(float(medians[best]), (low, high), interval, pairs)
    return Hindsight(temperature, kind, own, fixed[best], estimate), resampled


def _over_all(cells: Sequence[tuple[Hindsight, NDArray[np.float64] | None]], temperature: float, own: Arm) -> Hindsight:
    """The geometric mean; each kind has the same weight."""
    value = float(np.exp(np.mean([np.log(cell.end_to_end_ratio.value) for cell, _ in cells])))
    drawn = [resampled for _, resampled in cells if resampled is not None]
    certain = len(drawn) == len(cells)
    interval = interval_of(np.exp(np.mean(np.log(drawn), axis=0))) if certain else None
    pairs = sum(cell.end_to_end_ratio.pairs for cell, _ in cells)
    return Hindsight(temperature, ALL_KINDS, own, None, Estimate(value, None, interval, pairs))
