from __future__ import annotations

import numpy as np
import pytest

from specchat.bench.estimates import estimate, geometric_mean, paired_ratios


def test_a_speed_meets_the_base_of_its_own_key_whatever_the_order() -> None:
    ratios = paired_ratios({"slow": 20.0, "fast": 300.0}, {"fast": 100.0, "slow": 10.0})
    assert sorted(ratios) == [2.0, 3.0]


def test_what_has_no_counterpart_is_left_out() -> None:
    assert [*paired_ratios({"a": 20.0, "b": 5.0}, {"a": 10.0, "c": 1.0})] == [2.0]


def test_what_both_answers_of_a_pair_share_leaves_no_doubt_in_the_interval() -> None:
    base = {prompt: 10.0 ** (prompt % 4) for prompt in range(12)}
    found = estimate(paired_ratios({prompt: 1.5 * speed for prompt, speed in base.items()}, base))
    assert found is not None
    assert found.value == pytest.approx(1.5)
    assert found.interval == pytest.approx((1.5, 1.5))


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    chance = np.random.default_rng(1)
    found = [estimate(np.exp(chance.normal(0.2, 0.3, 15))) for _ in range(150)]
    covered = [each.interval[0] <= np.exp(0.2) <= each.interval[1] for each in found if each and each.interval]
    assert len(covered) == 150
    assert 0.88 <= np.mean(covered) <= 1.0


def test_more_pairs_make_it_surer() -> None:
    ratios = np.random.default_rng(2).uniform(1, 2, 200)
    few, many = estimate(ratios[:10]), estimate(ratios)
    assert few is not None
    assert many is not None
    assert few.interval is not None
    assert many.interval is not None
    assert few.interval[1] - few.interval[0] > 2 * (many.interval[1] - many.interval[0])


def test_the_same_ratios_give_the_same_interval() -> None:
    ratios = np.array([1.0, 1.2, 1.5, 2.0])
    assert estimate(ratios) == estimate(ratios)


def test_a_single_pair_has_no_interval_and_none_has_nothing() -> None:
    one = estimate(np.array([1.4]))
    assert one is not None
    assert (one.value, one.interval, one.pairs) == (1.4, None, 1)
    assert estimate(np.array([])) is None


def test_an_outlier_moves_neither_the_middle_nor_the_quartiles() -> None:
    found = estimate(np.array([1.0, 2.0, 3.0, 4.0, 50.0]))
    assert found is not None
    assert (found.value, found.quartiles) == (3.0, (2.0, 4.0))


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
