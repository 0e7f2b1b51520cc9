"""Samples, summed up: a row for each temperature, kind and arm, and each arm over all kinds."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from specchat.bench.estimates import Estimate, Ratios, estimate, geometric_mean, paired_ratios
from specchat.bench.plan import PLAIN, Arm, Pair
from specchat.bench.prediction import Prediction, predict
from specchat.bench.samples import Sample

ALL_KINDS = "all kinds"
"""What tables and charts call the mean over them."""

PARTS = ("draft", "verify", "rollback", "other")

Speed = Callable[[Sample], float | None]


@dataclass(frozen=True, slots=True)
class Row:
    """One arm on one kind of text at one temperature; None where nothing of the sort was measured.

    `speed` is the median of tokens a second of decoding, `quartiles` its spread. `ratio` compares the whole answer,
    from the prompt to the last token, with the plain one to the same prompt and repeat; `decoding` the decoding alone.
    `shares` split the time of decoding. `same_text` of `pairs` answers have the plain one's text.
    """

    temperature: float
    kind: str
    arm: Arm
    speed: float | None
    quartiles: tuple[float, float] | None
    ratio: Estimate | None
    decoding: Estimate | None
    ttft_ms: float
    alpha: float | None
    block_efficiency: float | None
    shares: Mapping[str, float]
    same_text: int
    pairs: int
    prediction: Prediction | None

    def to_json(self) -> dict[str, Any]:
        """The row as it stands in the document."""
        return {
            "temperature": self.temperature,
            "kind": self.kind,
            "arm": str(self.arm),
            "tokens_per_second": self.speed,
            "tokens_per_second_quartiles": self.quartiles,
            "end_to_end_ratio": self.ratio.to_json() if self.ratio else None,
            "decoding_ratio": self.decoding.to_json() if self.decoding else None,
            "ttft_ms": self.ttft_ms,
            "alpha": self.alpha,
            "block_efficiency": self.block_efficiency,
            "shares": dict(self.shares),
            "same_text": self.same_text,
            "pairs": self.pairs,
            "prediction": self.prediction.to_json() if self.prediction else None,
        }


@dataclass(frozen=True, slots=True)
class Overall:
    """An arm over all kinds, each counting the same: at one temperature, or at all (None)."""

    temperature: float | None
    arm: Arm
    ratio: Estimate

    def to_json(self) -> dict[str, Any]:
        """The mean as it stands in the document."""
        return {"temperature": self.temperature, "arm": str(self.arm), "end_to_end_ratio": self.ratio.to_json()}


def speeds(samples: Iterable[Sample], speed: Speed) -> dict[Pair, float]:
    """Each answer's speed under what it shares with the answers it is compared with; those without any are left out."""
    measured = ((sample.pair, speed(sample)) for sample in samples)
    return {pair: value for pair, value in measured if value is not None}


def rows(samples: Sequence[Sample], arms: Sequence[Arm]) -> list[Row]:
    """A row for each temperature, kind and arm that was measured, arms in the order given."""
    cells = [(temperature, kind) for temperature in temperatures(samples) for kind in kinds(samples)]
    found = []
    for temperature, kind in cells:
        cell = [sample for sample in samples if (sample.temperature, sample.kind) == (temperature, kind)]
        plain = [sample for sample in cell if sample.arm == PLAIN]
        for arm in arms:
            taken = [sample for sample in cell if sample.arm == arm]
            if taken:
                found.append(_row(arm, taken, plain))
    return found


def overall(samples: Sequence[Sample], arms: Sequence[Arm], temperature: float | None) -> list[Overall]:
    """The geometric mean of each arm's end-to-end ratios, arms in the order given; `temperature` None takes all.

    Only what every arm has answered counts, so that a run that was stopped still compares like with like.
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
    """The temperatures at which something was measured, ascending."""
    return sorted({sample.temperature for sample in samples})


def kinds(samples: Iterable[Sample]) -> list[str]:
    """The kinds of text on which something was measured, in the order in which they came."""
    return list(dict.fromkeys(sample.kind for sample in samples))


def _cells(samples: Sequence[Sample], arm: Arm) -> list[Ratios]:
    """The arm's ratios to plain decoding, one array for each temperature and kind."""
    base = speeds([sample for sample in samples if sample.arm == PLAIN], lambda sample: sample.end_to_end_speed)
    cells: dict[tuple[float, str], dict[Pair, float]] = {}
    taken = speeds([sample for sample in samples if sample.arm == arm], lambda sample: sample.end_to_end_speed)
    for pair, speed in taken.items():
        cells.setdefault(pair[:2], {})[pair] = speed
    return [paired_ratios(cell, base) for cell in cells.values()]


def _row(arm: Arm, taken: Sequence[Sample], plain: Sequence[Sample]) -> Row:
    accepted = _total(taken, "num_accepted_tokens")
    tested = accepted + _total(taken, "num_rejected_tokens")
    rounds = _total(taken, "num_rounds")
    decode_ms = _total(taken, "decode_ms")
    rates = [*speeds(taken, lambda sample: sample.decoding_speed).values()]
    low, middle, high = np.quantile(rates, (0.25, 0.5, 0.75)).tolist() if rates else (0.0, 0.0, 0.0)
    texts = {sample.pair: sample.text_hash for sample in plain}
    paired = [sample for sample in taken if sample.pair in texts]
    return Row(
        temperature=taken[0].temperature,
        kind=taken[0].kind,
        arm=arm,
        speed=middle if rates else None,
        quartiles=(low, high) if rates else None,
        ratio=_against(plain, taken, lambda sample: sample.end_to_end_speed),
        decoding=_against(plain, taken, lambda sample: sample.decoding_speed),
        ttft_ms=float(np.median([sample.ttft_ms for sample in taken])),
        alpha=accepted / tested if tested else None,
        block_efficiency=_total(taken, "num_tokens") / rounds if rounds else None,
        shares={part: _total(taken, f"{part}_ms") / decode_ms for part in PARTS} if decode_ms else {},
        same_text=sum(sample.text_hash == texts[sample.pair] for sample in paired),
        pairs=len(paired),
        prediction=predict(arm, taken, plain),
    )


def _against(plain: Sequence[Sample], taken: Sequence[Sample], speed: Speed) -> Estimate | None:
    return estimate(paired_ratios(speeds(taken, speed), speeds(plain, speed)))


def _total(samples: Iterable[Sample], name: str) -> float:
    return float(sum(getattr(sample, name) for sample in samples))
