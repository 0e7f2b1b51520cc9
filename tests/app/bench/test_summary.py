from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest

from specchat.bench.plan import PLAIN, Arm
from specchat.bench.samples import Estimate, Sample
from specchat.bench.summary import (
    Overall,
    SummaryRow,
    choose,
    estimate,
    geometric_mean,
    in_words,
    overall,
    paired_ratios,
    rows,
)
from support.bench_samples import LOOKUP, MODEL, sample

ARMS = (PLAIN, MODEL)


def row(samples: list[Sample], arm: Arm = MODEL, kind: str = "facts", temperature: float = 0.0) -> SummaryRow:
    (found,) = (
        row
        for row in rows(samples, (PLAIN, MODEL, LOOKUP))
        if (row.arm, row.kind, row.temperature) == (arm, kind, temperature)
    )
    return found


def ratios(found: list[Overall]) -> dict[Arm, float]:
    return {mean.arm: mean.end_to_end_ratio.value for mean in found}


def test_an_answer_is_compared_with_the_plain_one_to_the_same_prompt_in_any_order() -> None:
    taken = [
        sample(speed=10.0 ** (prompt + 1), prompt=prompt, repeat=repeat) for prompt in range(3) for repeat in (0, 1)
    ]
    taken += [sample(MODEL, 2 * one.end_to_end_speed, prompt=one.prompt, repeat=one.repeat) for one in taken[1:]]
    random.Random(5).shuffle(taken)
    ratio = row(taken).end_to_end_ratio
    assert ratio is not None
    assert ratio.value == pytest.approx(2.0)
    assert ratio.interval == pytest.approx((2.0, 2.0))
    assert ratio.pairs == 5


def test_kinds_and_temperatures_are_kept_apart() -> None:
    taken = [sample(), sample(MODEL, 200.0), sample(kind="copy"), sample(MODEL, 50.0, kind="copy")]
    taken += [sample(temperature=0.8, speed=10), sample(MODEL, 30.0, temperature=0.8)]
    assert [
        (each.temperature, each.kind, each.arm, round(each.end_to_end_ratio.value, 3))
        for each in rows(taken, ARMS)
        if each.end_to_end_ratio
    ] == [
        (0.0, "facts", PLAIN, 1.0),
        (0.0, "facts", MODEL, 2.0),
        (0.0, "copy", PLAIN, 1.0),
        (0.0, "copy", MODEL, 0.5),
        (0.8, "facts", PLAIN, 1.0),
        (0.8, "facts", MODEL, 3.0),
    ]


def test_the_ratio_counts_the_prompt_and_the_speed_does_not() -> None:
    plain, slow_to_start = sample(), sample(MODEL, draft_prompt_ms=1000.0, wall_ms=2000.0)
    found = row([plain, slow_to_start])
    assert found.end_to_end_ratio is not None
    assert found.decoding_ratio is not None
    assert found.end_to_end_ratio.value == pytest.approx(0.5)
    assert found.decoding_ratio.value == pytest.approx(1.0)
    assert found.tokens_per_second == row([plain, slow_to_start], PLAIN).tokens_per_second == pytest.approx(100 / 0.9)


def test_answers_of_unequal_length_are_compared_by_the_token() -> None:
    found = row([sample(), sample(MODEL, num_tokens=50, wall_ms=500.0)])
    assert found.end_to_end_ratio is not None
    assert found.end_to_end_ratio.value == pytest.approx(1.0)


def test_the_speed_is_a_median_and_its_spread_the_quartiles() -> None:
    taken = [sample(MODEL, speed, prompt=prompt) for prompt, speed in enumerate((90.0, 180.0, 900.0))]
    found = row(taken)
    assert found.tokens_per_second == pytest.approx(200.0)
    assert found.tokens_per_second_quartiles == pytest.approx((150.0, 600.0))
    assert found.ttft_ms == pytest.approx(0.12 * 100_000 / 180)
    assert found.end_to_end_ratio is None


def test_acceptance_and_time_are_sums_over_all_answers_and_not_means_of_means() -> None:
    long = sample(MODEL, num_accepted_tokens=90, num_rejected_tokens=10, num_rounds=20, draft_ms=700.0, verify_ms=200.0,
                  rollback_ms=60.0, other_ms=40.0)  # fmt: skip
    short = sample(MODEL, prompt=1, num_tokens=20, num_accepted_tokens=0, num_rejected_tokens=20, num_rounds=20,
                   draft_ms=0.0, verify_ms=100.0, rollback_ms=0.0, other_ms=0.0)  # fmt: skip
    found = row([long, short])
    assert found.alpha == pytest.approx(0.75)
    assert found.block_efficiency == pytest.approx(3.0)
    assert found.shares == pytest.approx(
        {"draft": 700 / 1100, "verify": 300 / 1100, "rollback": 60 / 1100, "other": 40 / 1100}
    )


def test_the_texts_that_are_the_plain_ones_are_counted_pair_by_pair() -> None:
    taken = [sample(prompt=prompt, text_hash=text) for prompt, text in enumerate("abc")]
    taken += [sample(MODEL, prompt=prompt, text_hash=text) for prompt, text in ((2, "c"), (0, "b"), (1, "b"), (3, "d"))]
    found = row(taken)
    assert (found.same_text, found.pairs) == (2, 3)


def test_an_answer_without_tokens_has_no_speed() -> None:
    nothing = sample(MODEL, num_tokens=0, num_rounds=0, wall_ms=0.0, draft_ms=0.0, verify_ms=0.0, rollback_ms=0.0,
                     other_ms=0.0, num_accepted_tokens=0, num_rejected_tokens=0)  # fmt: skip
    found = row([sample(), nothing])
    assert (found.tokens_per_second, found.end_to_end_ratio, found.alpha, found.block_efficiency, found.shares) == (
        None,
        None,
        None,
        None,
        {},
    )


def test_over_all_kinds_each_kind_counts_the_same() -> None:
    taken = [sample(kind="facts", prompt=prompt) for prompt in range(9)] + [sample(kind="copy")]
    taken += [sample(MODEL, 50.0, kind="facts", prompt=prompt) for prompt in range(9)]
    taken += [sample(MODEL, 200.0, kind="copy")]
    assert ratios(overall(taken, ARMS, None)) == pytest.approx({PLAIN: 1.0, MODEL: 1.0})


def test_over_all_kinds_at_one_temperature_the_others_are_left_out() -> None:
    taken = [sample(), sample(MODEL, 300.0), sample(temperature=0.8), sample(MODEL, 50.0, temperature=0.8)]
    assert ratios(overall(taken, ARMS, 0.8))[MODEL] == pytest.approx(0.5)
    assert ratios(overall(taken, ARMS, None))[MODEL] == pytest.approx(1.5**0.5)


def test_prompts_that_an_arm_did_not_answer_do_not_count_over_all_kinds() -> None:
    taken = [sample(), sample(MODEL, 120.0), sample(LOOKUP, 110.0)]
    taken += [sample(kind="copy"), sample(LOOKUP, 900.0, kind="copy")]
    assert ratios(overall(taken, (PLAIN, MODEL, LOOKUP), None)) == pytest.approx({PLAIN: 1.0, MODEL: 1.2, LOOKUP: 1.1})


def test_the_theory_stands_beside_a_draft_models_row() -> None:
    taken = [sample(), sample(MODEL, 150.0), sample(LOOKUP, 150.0)]
    assert row(taken).prediction is not None
    assert row(taken, LOOKUP).prediction is None


AUTO = Arm("hybrid", "auto")


def means(**values: float) -> list[Overall]:
    arms = {"plain": PLAIN, "model4": Arm("model", 4), "lookup8": Arm("lookup", 8), "auto": AUTO}
    return [
        Overall(None, arms[name], Estimate(value, None, (value - 0.1, value + 0.1), 9))
        for name, value in values.items()
    ]


def sentence(**values: float) -> str:
    choice = choose(means(**values))
    assert choice is not None
    return in_words(choice)


def test_the_best_arm_and_the_best_fixed_k_are_named_in_one_sentence() -> None:
    assert sentence(plain=1.0, model4=1.2, lookup8=1.1, auto=1.4) == (
        "Use --drafter hybrid -k auto: 1.40 × plain (95 % 1.30 to 1.50) over all kinds, from 9 pairs of answers; "
        "the best fixed k is --drafter model -k 4 with 1.20 × plain (95 % 1.10 to 1.30)."
    )


def test_a_fixed_k_is_named_once_if_it_is_best_and_not_at_all_if_none_gains() -> None:
    assert sentence(plain=1.0, model4=1.2, lookup8=1.5, auto=1.4) == (
        "Use --drafter lookup -k 8: 1.50 × plain (95 % 1.40 to 1.60) over all kinds, from 9 pairs of answers."
    )
    assert sentence(plain=1.0, model4=0.8, auto=1.2).endswith(
        "over all kinds, from 9 pairs of answers; no fixed k gains."
    )


def test_a_gain_that_may_be_chance_is_called_one() -> None:
    chance = "this may be chance, so measure more with --repeats"
    assert chance in sentence(plain=1.0, model4=1.05)
    assert chance not in sentence(plain=1.0, model4=1.2)
    single = [Overall(None, arm, Estimate(value, None, None, 1)) for arm, value in ((PLAIN, 1.0), (AUTO, 3.0))]
    choice = choose(single)
    assert choice is not None
    assert chance in in_words(choice)


def test_where_nothing_gains_it_says_plain_and_where_nothing_was_compared_nothing_is_chosen() -> None:
    assert sentence(plain=1.0, model4=0.8, lookup8=0.9, auto=0.97).startswith("Use plain decoding (--drafter none)")
    assert choose([]) is None
    assert choose(means(plain=1.0)) is None


def estimated(ratios: Iterable[float]) -> Estimate:
    """The estimate of ratios, of which there are some."""
    found = estimate(np.array([*ratios]))
    assert found is not None
    return found


def test_speeds_are_paired_by_their_keys_in_any_order_and_those_without_a_counterpart_left_out() -> None:
    ratios = paired_ratios({"slow": 20.0, "fast": 300.0, "a": 5.0}, {"fast": 100.0, "slow": 10.0, "b": 1.0})
    assert sorted(ratios) == [2.0, 3.0]


def test_influences_on_both_answers_of_a_pair_cancel_out_in_the_interval() -> None:
    base = {prompt: 10.0 ** (prompt % 4) for prompt in range(12)}
    found = estimated(paired_ratios({prompt: 1.5 * speed for prompt, speed in base.items()}, base))
    assert found.value == pytest.approx(1.5)
    assert found.interval == pytest.approx((1.5, 1.5))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    chance = np.random.default_rng(1)
    found = [estimate(np.exp(chance.normal(0.2, 0.3, 15))) for _ in range(150)]
    covered = [each.interval[0] <= np.exp(0.2) <= each.interval[1] for each in found if each and each.interval]
    assert len(covered) == 150
    assert 0.88 <= np.mean(covered) <= 1.0


def test_more_pairs_give_a_narrower_interval() -> None:
    ratios = np.random.default_rng(2).uniform(1, 2, 200)
    few, many = estimated(ratios[:10]).interval, estimated(ratios).interval
    assert few is not None
    assert many is not None
    assert few[1] - few[0] > 2 * (many[1] - many[0])


def test_an_estimate_is_repeatable_and_an_outlier_moves_neither_its_middle_nor_its_quartiles() -> None:
    found = estimated([1.0, 2.0, 3.0, 4.0, 50.0])
    assert (found.value, found.quartiles) == (3.0, (2.0, 4.0))
    assert estimated([1.0, 2.0, 3.0, 4.0, 50.0]) == found


def test_a_single_pair_has_no_interval_and_none_has_nothing() -> None:
    one = estimated([1.4])
    assert (one.value, one.interval, one.pairs) == (1.4, None, 1)
    assert estimate(np.array([])) is None


def test_a_mean_over_kinds_counts_each_kind_the_same() -> None:
    gains, loses = np.full(2, 4.0), np.full(40, 0.25)
    mean = geometric_mean([gains, loses, np.array([])])
    assert mean is not None
    assert mean.value == pytest.approx(1.0)
    assert mean.interval == pytest.approx((1.0, 1.0))
    assert mean.pairs == 42


def test_a_mean_is_as_sure_as_its_least_sure_kind() -> None:
    sure, one = np.full(9, 2.0), np.array([1.0])
    mean = geometric_mean([sure, one])
    assert mean is not None
    assert mean.interval is None
    assert geometric_mean([np.array([])]) is None
