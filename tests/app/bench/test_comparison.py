from __future__ import annotations

import json
from dataclasses import replace

import pytest

from specchat.bench.comparison import Change, compare
from specchat.bench.document import Benchmark
from specchat.bench.plan import PLAIN, Arm
from specchat.errors import ConfigError
from specchat_engine.load_options import LoadOptions
from support.bench_samples import CONDITIONS, MODEL, benchmark

FIRST = benchmark({PLAIN: (10.0, 100.0, 1000.0), MODEL: (20.0, 200.0, 2000.0)})


def change(first: Benchmark, second: Benchmark, arm: Arm = MODEL, kind: str = "facts") -> Change:
    (found,) = (each for each in compare(first, second).changes if (each.arm, each.kind) == (arm, kind))
    return found


def test_the_change_is_the_second_over_the_first_pair_by_pair() -> None:
    second = benchmark({PLAIN: (10.0, 100.0, 1000.0), MODEL: (30.0, 300.0, 3000.0)})
    found = change(FIRST, second)
    assert found.speed_ratio.value == pytest.approx(1.5)
    assert found.speed_ratio.interval == pytest.approx((1.5, 1.5))
    assert (found.end_to_end_ratio_a, found.end_to_end_ratio_b) == pytest.approx((2.0, 3.0))
    assert change(FIRST, second, PLAIN).speed_ratio.value == pytest.approx(1.0)


def test_a_benchmark_against_itself_has_not_changed() -> None:
    found = compare(FIRST, FIRST)
    assert all(each.speed_ratio.interval == (1.0, 1.0) for each in found.changes)
    assert [each.kind for each in found.changes] == ["facts", "facts", "copy", "copy"]
    assert (found.only_a, found.only_b, dict(found.differences)) == (0, 0, {})


def test_prompts_are_matched_by_their_text_and_not_by_their_number() -> None:
    turned = {kind: texts[::-1] for kind, texts in CONDITIONS.prompts.items()}
    second = benchmark({PLAIN: (1000.0, 100.0, 10.0), MODEL: (2000.0, 200.0, 20.0)}, prompts=turned)
    assert change(FIRST, second).speed_ratio.interval == pytest.approx((1.0, 1.0))


def test_what_only_one_of_them_measured_is_counted_and_left_out() -> None:
    second = benchmark({PLAIN: (10.0, 100.0), Arm("lookup", 4): (5.0,)}, kinds=("facts",))
    found = compare(FIRST, second)
    assert [(each.kind, each.arm, each.speed_ratio.pairs) for each in found.changes] == [("facts", PLAIN, 2)]
    assert (found.only_a, found.only_b) == (10, 1)


def test_conditions_that_differ_are_reported() -> None:
    second = replace(FIRST, conditions=replace(CONDITIONS, arms=(PLAIN, MODEL), machine={"threads": 8}, seed=2))
    assert compare(FIRST, second).differences == {"machine.threads": (2, 8), "seed": (1, 2)}


def test_an_option_that_an_older_version_did_not_have_is_no_difference() -> None:
    known = replace(CONDITIONS, options=CONDITIONS.options | {"n_cpu_moe": LoadOptions().n_cpu_moe})
    assert compare(FIRST, replace(FIRST, conditions=known)).differences == {}
    other = replace(CONDITIONS, options=CONDITIONS.options | {"n_cpu_moe": 7})
    assert compare(FIRST, replace(FIRST, conditions=other)).differences == {"options.n_cpu_moe": (0, 7)}


def test_two_that_have_nothing_in_common_are_refused() -> None:
    second = benchmark({PLAIN: (1.0,)}, prompts={"facts": ("Something else?",)}, kinds=("facts",))
    with pytest.raises(
        ConfigError, match="no answer in common: measure both with the same --prompts, --arms and --temp"
    ):
        compare(FIRST, second)


def test_as_json_it_is_one_document() -> None:
    document = json.loads(json.dumps(compare(FIRST, FIRST).to_json(), allow_nan=False))
    assert (document["type"], document["schema"], document["only_a"]) == ("bench-comparison", 1, 0)
    assert (document["changes"][1]["arm"], document["changes"][1]["speed_ratio"]["value"]) == ("model:4", 1.0)
