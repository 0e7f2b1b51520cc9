"""The own choice against the best fixed one: per kind, by pairs, with what chance makes of it."""

from __future__ import annotations

import numpy as np
import pytest

from specchat.bench.hindsight import Hindsight, hindsight
from specchat.bench.plan import PLAIN, Arm
from specchat.bench.samples import Sample
from specchat.bench.summary import ALL_KINDS, estimate
from specchat_engine.settings import AUTO
from support.bench_samples import LOOKUP, MODEL, benchmark, sample

OWN = Arm("hybrid", AUTO)
ARMS = (PLAIN, MODEL, LOOKUP, OWN)


def cell(kind: str, **speeds: list[float]) -> list[Sample]:
    names = {"plain": PLAIN, "model": MODEL, "lookup": LOOKUP, "own": OWN}
    return [
        sample(names[name], speed, kind=kind, prompt=prompt)
        for name, some in speeds.items()
        for prompt, speed in enumerate(some)
    ]


def compared(samples: list[Sample]) -> dict[str, Hindsight]:
    return {found.kind: found for found in hindsight(samples, ARMS, 0.0)}


def test_each_kind_has_its_best_fixed_arm_which_may_be_plain() -> None:
    found = compared(
        cell("facts", plain=[100.0] * 3, model=[200.0] * 3, lookup=[90.0] * 3, own=[190.0] * 3)
        + cell("copy", plain=[100.0] * 3, model=[80.0] * 3, lookup=[250.0] * 3, own=[275.0] * 3)
        + cell("noise", plain=[100.0] * 3, model=[50.0] * 3, lookup=[60.0] * 3, own=[97.0] * 3)
    )
    assert {kind: one.best_fixed for kind, one in found.items()} == {
        "facts": MODEL, "copy": LOOKUP, "noise": PLAIN, ALL_KINDS: None,
    }  # fmt: skip
    assert [round(one.end_to_end_ratio.value, 3) for one in found.values()][:3] == [0.95, 1.1, 0.97]
    assert found[ALL_KINDS].end_to_end_ratio.value == pytest.approx((0.95 * 1.1 * 0.97) ** (1 / 3))
    assert found["copy"].end_to_end_ratio.interval == pytest.approx((1.1, 1.1))
    assert found[ALL_KINDS].end_to_end_ratio.pairs == 9


def test_pairs_are_compared_and_not_medians_of_different_prompts() -> None:
    """A prompt that is slow for everybody says nothing."""
    slow = cell("facts", plain=[100, 10, 1000], model=[50, 5, 500], lookup=[50, 5, 500], own=[110, 11, 1100])
    assert compared(slow)["facts"].end_to_end_ratio.value == pytest.approx(1.1)


def test_what_not_every_arm_has_answered_does_not_count() -> None:
    stopped = cell("facts", plain=[100, 100], model=[200, 200], lookup=[90], own=[200, 100])
    ratio = compared(stopped)["facts"].end_to_end_ratio
    assert (ratio.value, ratio.pairs, ratio.interval) == (1.0, 1, None)
    assert compared(cell("facts", plain=[100], model=[200], own=[200])) == {}


def test_nothing_is_reported_where_nothing_adaptive_was_measured() -> None:
    assert hindsight(cell("facts", plain=[100.0], model=[200.0], lookup=[90.0]), (PLAIN, MODEL, LOOKUP), 0.0) == []


def test_one_kind_alone_has_no_mean_over_kinds() -> None:
    assert [*compared(cell("facts", plain=[1.0, 1], model=[2.0, 2], lookup=[1.0, 1], own=[2.0, 2]))] == ["facts"]


def test_the_interval_knows_that_the_best_of_several_was_lucky() -> None:
    """Arms that are all alike: the one that looks best is so by chance, and 1 lies within the interval."""
    chance = np.random.default_rng(5)
    alike = {name: list(chance.lognormal(4, 0.2, 12)) for name in ("plain", "model", "lookup", "own")}
    ratio = compared(cell("facts", **alike))["facts"].end_to_end_ratio
    assert ratio.value < 1
    assert ratio.interval is not None
    assert ratio.interval[0] < ratio.value < ratio.interval[1]
    against = [estimate(np.array(alike["own"]) / np.array(alike[name])) for name in ("plain", "model", "lookup")]
    worst = min((one for one in against if one), key=lambda one: one.value)
    assert worst.interval is not None
    assert (ratio.value, ratio.quartiles) == (worst.value, worst.quartiles)
    assert ratio.interval[1] < worst.interval[1]


def test_it_stands_in_the_document() -> None:
    one = benchmark({PLAIN: [100.0, 100], MODEL: [200.0, 200], OWN: [190.0, 190]})
    found = one.to_json()["hindsight"]
    assert [(line["kind"], line["arm"], line["best_fixed"]) for line in found] == [
        ("facts", "hybrid:auto", "model:4"),
        ("copy", "hybrid:auto", "model:4"),
        (ALL_KINDS, "hybrid:auto", None),
    ]
    assert found[0]["end_to_end_ratio"]["value"] == pytest.approx(0.95)
    assert found[0]["end_to_end_ratio"]["interval"] == pytest.approx((0.95, 0.95))
