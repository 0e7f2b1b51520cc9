"""The shared noise is a pure function with the distribution that the Gumbel-max trick needs."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from specchat_engine.sampling.noise import NOISE_RANGE, gumbel, turn_seed

EXPECTED = [-0.780626523098008, 2.4365309858624715, -0.5884314355367397]
EXPECTED_SEED = 16273991945517981000
SEEDS = st.integers(0, 2**64 - 1)
POSITIONS = st.integers(0, 2**31)


@given(SEEDS, POSITIONS, st.lists(st.integers(0, 300_000), min_size=1, max_size=20))
def test_the_noise_of_a_token_does_not_depend_on_its_neighbours(seed: int, position: int, ids: list[int]) -> None:
    together = gumbel(seed, position, np.array(ids))
    alone = [gumbel(seed, position, np.array([token]))[0] for token in ids]
    assert together.tolist() == alone
    assert np.isfinite(together).all()


def test_the_noise_is_the_same_on_every_machine() -> None:
    noise = gumbel(7, 3, np.array([0, 1, 150_000]))
    np.testing.assert_allclose(noise, EXPECTED, rtol=1e-12)
    assert turn_seed(7, 0, 0) == EXPECTED_SEED


def test_the_callers_ids_are_left_alone() -> None:
    ids = np.arange(5)
    gumbel(1, 1, ids)
    assert ids.tolist() == [0, 1, 2, 3, 4]


def test_the_values_are_gumbel_distributed() -> None:
    noise = np.sort(gumbel(1, 5, np.arange(200_000)))
    expected = np.exp(-np.exp(-noise))
    observed = (np.arange(len(noise)) + 0.5) / len(noise)
    assert np.abs(expected - observed).max() < 1.95 / np.sqrt(len(noise))


def test_positions_tokens_and_seeds_are_independent() -> None:
    ids = np.arange(20_000)
    first = gumbel(1, 0, ids)
    for other in (gumbel(1, 1, ids), gumbel(2, 0, ids), gumbel(1, 0, ids + 1), gumbel(1, 2**20, ids)):
        assert abs(np.corrcoef(first, other)[0, 1]) < 4 / np.sqrt(len(ids))


def test_every_turn_and_attempt_has_its_own_seed() -> None:
    seeds = {turn_seed(seed, turn, attempt) for seed in range(10) for turn in range(12) for attempt in range(3)}
    assert len(seeds) == 360
    assert all(0 <= seed < 2**64 for seed in seeds)
    assert turn_seed(1, 11, 1) != turn_seed(1, 1, 11)


def test_the_values_are_within_the_stated_range() -> None:
    least, most = -np.log(-np.log1p(-np.array([2.0**-54, 1 - 2.0**-53])))
    assert most - least < NOISE_RANGE
