"""How much passes of other widths change, and how many texts that parts from plain decoding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from specchat_engine.analysis.widths import ReadBothWays, WidthNoise, read_both_ways, same_draw, widest_equal
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import gumbel
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.testing import ScriptedModel, random_law

SAMPLING = SamplingParams(temperature=0.8, top_k=0, top_p=1.0, min_p=0.0)
GREEDY = replace(SAMPLING, temperature=0)
LAW = random_law(3)


class Wavering(ScriptedModel):
    """Its logits differ in passes over at least `narrowest` tokens."""

    def __init__(self, narrowest: int, shift: float = 1e-3) -> None:
        super().__init__(LAW)
        self._narrowest, self._shift = narrowest, shift

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        logits = super().advance(tokens, rows)
        if rows and len(tokens) >= self._narrowest:
            logits[:, ::2] += self._shift
        return logits


def both_ways(singly: NDArray[np.float32], together: NDArray[np.float32]) -> ReadBothWays:
    return ReadBothWays([*range(len(singly) + 1)], 0, 4, singly.astype(np.float32), together.astype(np.float32))


def test_equal_logits_part_no_text() -> None:
    rows = read_both_ways(ScriptedModel(LAW), range(40), 10, 5)
    noise = WidthNoise.of(rows, SAMPLING)
    assert (noise.equal, noise.width, noise.rows) == (True, 5, 30)
    assert noise.parted() == noise.rms == noise.largest == noise.divergence == 0


def test_each_row_is_compared_with_the_same_row_of_a_wider_pass() -> None:
    noise = WidthNoise.of(read_both_ways(Wavering(2, shift=0.25), range(40), 10, 5), SAMPLING)
    assert not noise.equal
    assert noise.largest == pytest.approx(0.25, abs=1e-5)
    assert noise.rms == pytest.approx(0.25 * np.sqrt(2 / 3), rel=0.01)  # two of the three tokens move
    assert 0 < noise.divergence < 0.25**2


def test_the_last_bit_of_one_logit_counts() -> None:
    singly = np.ones((3, 5), np.float32)
    together = singly.copy()
    together[2, 4] = np.nextafter(np.float32(1), np.float32(2))
    assert not WidthNoise.of(both_ways(singly, together), SAMPLING).equal


@pytest.mark.parametrize("narrowest", [2, 3, 7, 99])
def test_the_widest_equal_pass_is_one_less_than_the_first_that_differs(narrowest: int) -> None:
    assert widest_equal(Wavering(narrowest), 259) == min(narrowest - 1, 16)


def test_no_pass_is_tried_that_the_model_cannot_make() -> None:
    assert widest_equal(ScriptedModel(LAW, max_rows=4), 259) == 4
    assert widest_equal(ScriptedModel(LAW, capacity=64), 259) == 16


def test_the_probability_of_the_same_draw_is_that_of_draws_with_shared_noise() -> None:
    p, q = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.1, 0.7])
    one, other = Candidates(np.array([3, 5, 9]), np.log(p)), Candidates(np.array([3, 7, 9]), np.log(q))
    seeds = 20_000
    same = 0
    for seed in range(seeds):
        first = one.ids[(one.log_p + gumbel(seed, 0, one.ids)).argmax()]
        second = other.ids[(other.log_p + gumbel(seed, 0, other.ids)).argmax()]
        same += first == second
    assert same_draw(one, other) == pytest.approx(same / seeds, abs=0.015)
    assert same_draw(one, one) == pytest.approx(1)


def test_a_likeliest_token_changes_as_often_as_noise_exceeds_its_lead() -> None:
    generator = np.random.default_rng(1)
    singly = generator.standard_normal((4000, 40)) * 3
    together = singly + generator.standard_normal(singly.shape) * 0.1
    changed = float(np.mean(singly.argmax(axis=1) != together.argmax(axis=1)))
    assert WidthNoise.of(both_ways(singly, together), GREEDY).parting == pytest.approx(changed, rel=0.2)


def test_longer_answers_part_more_often() -> None:
    noise = WidthNoise(False, 4, 10, parting=0.01)
    assert noise.parted(1) == pytest.approx(0.01)
    assert noise.parted(200) == pytest.approx(1 - 0.99**200)


def test_the_mean_of_several_comparisons_weighs_them_by_their_rows() -> None:
    one = WidthNoise(False, 4, 30, rms=0.1, largest=0.5, divergence=4e-4, parting=0.01)
    mean = WidthNoise.mean([one, WidthNoise(True, 4, 10)])
    assert (mean.equal, mean.rows, mean.largest) == (False, 40, 0.5)
    assert mean.parting == pytest.approx(0.0075)
    assert mean.rms == pytest.approx(0.1 * np.sqrt(0.75))
