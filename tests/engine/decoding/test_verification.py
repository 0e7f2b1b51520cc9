"""The randomness of a round: shared where the rule couples, and otherwise three streams that nobody else uses."""

from __future__ import annotations

import numpy as np
import pytest

from specchat_engine import SamplingParams
from specchat_engine.decoding.verification import RoundChance, SharedChance, proposer
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import gumbel, stream_seed, uniform
from specchat_engine.sampling.sampler import Sampler

SAMPLER = Sampler(SamplingParams(temperature=1, top_k=0, top_p=1, min_p=0), 11)
FLAT = Candidates(np.arange(1000), np.full(1000, -np.log(1000)))


def test_the_shared_draw_is_the_samplers_own_at_that_position() -> None:
    chance = SharedChance(SAMPLER, 40)
    assert [chance.draw(place, FLAT) for place in range(5)] == [SAMPLER.draw(FLAT, 40 + place) for place in range(5)]


def test_a_rounds_draws_differ_from_the_turns_and_from_its_proposals() -> None:
    own = [RoundChance(SAMPLER, 40).draw(place, FLAT) for place in range(20)]
    shared = [SAMPLER.draw(FLAT, 40 + place) for place in range(20)]
    proposed = [proposer(SAMPLER, 40).draw(FLAT, 40 + place) for place in range(20)]
    again = [proposer(SAMPLER, 40).draw(FLAT, place) for place in range(20)]
    for one, other in ((own, shared), (own, proposed), (shared, proposed), (own, again)):
        assert sum(a == b for a, b in zip(one, other, strict=True)) <= 1


def test_a_position_that_is_drafted_again_gets_fresh_noise() -> None:
    first, second = proposer(SAMPLER, 40), proposer(SAMPLER, 41)
    assert first.draw(FLAT, 45) != second.draw(FLAT, 45)


def test_a_round_gives_the_same_answers_when_it_is_asked_again() -> None:
    def answers() -> list[object]:
        chance = RoundChance(SAMPLER, 7)
        return [chance.accepts(place, 0.5) for place in range(20)] + [chance.draw(3, FLAT)]

    assert answers() == answers()


@pytest.mark.parametrize("probability", [0.0, 0.1, 0.5, 0.97, 1.0])
def test_tests_pass_with_their_probability(probability: float) -> None:
    passed = np.mean([RoundChance(SAMPLER, start).accepts(2, probability) for start in range(4000)])
    assert passed == pytest.approx(probability, abs=4 * np.sqrt(probability * (1 - probability) / 4000))


def test_streams_positions_and_places_are_uncorrelated() -> None:
    ids = np.arange(20_000)
    first = gumbel(stream_seed(1, 1, 0), 0, ids)
    others = [stream_seed(1, 2, 0), stream_seed(1, 1, 1), stream_seed(2, 1, 0), stream_seed(1, 3, 2**20), 1]
    for seed in others:
        assert abs(np.corrcoef(first, gumbel(seed, 0, ids))[0, 1]) < 4 / np.sqrt(len(ids))
    numbers = np.array([uniform(9, place) for place in range(20_000)])
    assert 0 <= numbers.min() < numbers.max() < 1
    assert abs(np.corrcoef(numbers[1:], numbers[:-1])[0, 1]) < 4 / np.sqrt(len(ids))
    assert abs(numbers.mean() - 0.5) < 4 * np.sqrt(1 / 12 / len(numbers))
