"""Sums over samples: a row for each temperature, kind and arm, each arm over all kinds, and the best settings.

Ratios of paired speeds come with quartiles and bootstrap intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from specchat.bench.plan import PLAIN, Arm, Pair
from specchat.bench.samples import Estimate, Prediction, Sample, predict, summed

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


ALL_KINDS = "all kinds"
"""The name of the mean over all kinds in tables and charts."""

Speed = Callable[[Sample], float | None]


@dataclass(frozen=True, slots=True)
class SummaryRow:
    """One arm on one kind of text at one temperature; values that were not measured are None.

    `tokens_per_second` is the median speed of decoding, with its quartiles. `end_to_end_ratio` compares the speed from
    the prompt to the last token with the plain answer to the same prompt and repeat; `decoding_ratio` compares decoding
    alone. `shares` split the time of decoding. `same_text` of `pairs` answers have the same text as the plain one.
    """

    temperature: float
    kind: str
    arm: Arm
    tokens_per_second: float | None
    tokens_per_second_quartiles: tuple[float, float] | None
    end_to_end_ratio: Estimate | None
    decoding_ratio: Estimate | None
    ttft_ms: float
    alpha: float | None
    block_efficiency: float | None
    shares: Mapping[str, float]
    same_text: int
    pairs: int
    prediction: Prediction | None


@dataclass(frozen=True, slots=True)
class Overall:
    """An arm over all kinds, each with the same weight, at one temperature or at all of them (None)."""

    temperature: float | None
    arm: Arm
    end_to_end_ratio: Estimate


def speeds(samples: Iterable[Sample], speed: Speed) -> dict[Pair, float]:
    """Each answer's speed by the key of its pair; answers without a speed are left out."""
    measured = ((sample.pair, speed(sample)) for sample in samples)
    return {pair: value for pair, value in measured if value is not None}


def rows(samples: Sequence[Sample], arms: Sequence[Arm]) -> list[SummaryRow]:
    """A row for each measured temperature, kind and arm, with the arms in the given order."""
    cells = [(temperature, kind) for temperature in temperatures(samples) for kind in kinds(samples)]
    rows = []
    for temperature, kind in cells:
        cell = [sample for sample in samples if (sample.temperature, sample.kind) == (temperature, kind)]
        plain = [sample for sample in cell if sample.arm == PLAIN]
        for arm in arms:
            taken = [sample for sample in cell if sample.arm == arm]
            if taken:
                rows.append(_row(arm, taken, plain))
    return rows


def overall(samples: Sequence[Sample], arms: Sequence[Arm], temperature: float | None) -> list[Overall]:
    """The geometric mean of each arm's end-to-end ratios, in the given order; `temperature` None takes all.

    Only prompts that every arm has answered count, so that a run that was stopped still gives a fair comparison.
    """
    answered: dict[Pair, set[Arm]] = {}
    for sample in samples:
        if sample.end_to_end_speed is not None:
            answered.setdefault(sample.pair, set()).add(sample.arm)
    common = {pair for pair, by in answered.items() if by == {*arms}}
    chosen = [sample for sample in samples if sample.pair in common and temperature in (None, sample.temperature)]
    means = ((arm, geometric_mean(_cells(chosen, arm))) for arm in arms)
    return [Overall(temperature, arm, mean) for arm, mean in means if mean]


def temperatures(samples: Iterable[Sample]) -> list[float]:
    """The measured temperatures, ascending."""
    return sorted({sample.temperature for sample in samples})


def kinds(samples: Iterable[Sample]) -> list[str]:
    """The measured kinds of text, in order of appearance."""
    return list(dict.fromkeys(sample.kind for sample in samples))


def _cells(samples: Sequence[Sample], arm: Arm) -> list[Ratios]:
    """The arm's ratios to plain decoding, one array for each temperature and kind."""
    base = speeds([sample for sample in samples if sample.arm == PLAIN], lambda sample: sample.end_to_end_speed)
    cells: dict[tuple[float, str], dict[Pair, float]] = {}
    taken = speeds([sample for sample in samples if sample.arm == arm], lambda sample: sample.end_to_end_speed)
    for pair, speed in taken.items():
        cells.setdefault(pair[:2], {})[pair] = speed
    return [paired_ratios(cell, base) for cell in cells.values()]


def _row(arm: Arm, taken: Sequence[Sample], plain: Sequence[Sample]) -> SummaryRow:
    total = summed(taken)
    rates = [*speeds(taken, lambda sample: sample.decoding_speed).values()]
    low, middle, high = np.quantile(rates, (0.25, 0.5, 0.75)).tolist() if rates else (0.0, 0.0, 0.0)
    texts = {sample.pair: sample.text_hash for sample in plain}
    paired = [sample for sample in taken if sample.pair in texts]
    return SummaryRow(
        temperature=taken[0].temperature,
        kind=taken[0].kind,
        arm=arm,
        tokens_per_second=middle if rates else None,
        tokens_per_second_quartiles=(low, high) if rates else None,
        end_to_end_ratio=_against(plain, taken, lambda sample: sample.end_to_end_speed),
        decoding_ratio=_against(plain, taken, lambda sample: sample.decoding_speed),
        ttft_ms=float(np.median([sample.ttft_ms for sample in taken])),
        alpha=total.alpha,
        block_efficiency=total.block_efficiency,
        shares=total.shares,
        same_text=sum(sample.text_hash == texts[sample.pair] for sample in paired),
        pairs=len(paired),
        prediction=predict(arm, taken, plain),
    )


def _against(plain: Sequence[Sample], taken: Sequence[Sample], speed: Speed) -> Estimate | None:
    return estimate(paired_ratios(speeds(taken, speed), speeds(plain, speed)))


@dataclass(frozen=True, slots=True)
class BestArms:
    """The best arm over all kinds and temperatures, and the best with a fixed k, which is plain if none gains."""

    best: Overall
    best_fixed: Overall


def choose(means: Sequence[Overall]) -> BestArms | None:
    """The arms with the largest geometric means; None if nothing was compared."""
    if len(means) < 2:
        return None
    best = best_of(means)
    fixed = best_of(mean for mean in means if mean.arm == PLAIN or mean.arm.is_fixed)
    return BestArms(best, fixed) if best and fixed else None


def best_of(means: Iterable[Overall]) -> Overall | None:
    """The largest geometric mean, the first of equal ones; None without any."""
    return max(means, key=lambda mean: mean.end_to_end_ratio.value, default=None)


def in_words(choice: BestArms) -> str:
    """The recommended settings in one sentence."""
    best, fixed = choice.best, choice.best_fixed
    if best.arm == PLAIN:
        return "Use plain decoding (--drafter none): nothing that was measured is faster on this machine."
    ratio = best.end_to_end_ratio
    pairs = f"{ratio.pairs} pair{'' if ratio.pairs == 1 else 's'} of answers"
    parts = [f"Use --drafter {best.arm.drafter} -k {best.arm.k}: {ratio.words} over all kinds, from {pairs}"]
    if not ratio.is_gain:
        parts.append("this may be chance, so measure more with --repeats")
    if fixed.arm == PLAIN:
        parts.append("no fixed k gains")
    elif best.arm != fixed.arm:
        gain = fixed.end_to_end_ratio.words
        parts.append(f"the best fixed k is --drafter {fixed.arm.drafter} -k {fixed.arm.k} with {gain}")
    return f"{'; '.join(parts)}."
