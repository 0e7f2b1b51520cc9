"""The randomness of a verifier: the noise that it shares with the drafter, or noise of its own."""

from __future__ import annotations

from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import stream_seed, uniform
from specchat_engine.sampling.sampler import Sampler

PROPOSALS, TESTS, DRAWS = 1, 2, 3
"""The streams of a round under a rule that does not couple: the drafter's draws, the tests, the target's draws."""


class SharedChance:
    """The turn's own noise, by output position: what the target draws does not depend on any draft."""

    __slots__ = ("_position", "_sampler")

    def __init__(self, sampler: Sampler, position: int) -> None:
        self._sampler = sampler
        self._position = position

    def accepts(self, place: int, probability: float) -> bool:
        """True with this probability, by the noise of this position. Coupled rules do not need it."""
        return uniform(self._sampler.seed, self._position + place) < probability

    def draw(self, place: int, row: Candidates) -> int:
        """The target's token at this place."""
        return self._sampler.draw(row, self._position + place)


class RoundChance:
    """Noise for one round alone, independent of its proposals."""

    __slots__ = ("_draws", "_tests")

    def __init__(self, sampler: Sampler, position: int) -> None:
        self._tests = stream_seed(sampler.seed, TESTS, position)
        self._draws = sampler.reseeded(stream_seed(sampler.seed, DRAWS, position))

    def accepts(self, place: int, probability: float) -> bool:
        """True with this probability."""
        return uniform(self._tests, place) < probability

    def draw(self, place: int, row: Candidates) -> int:
        """A token distributed as the row."""
        return self._draws.draw(row, place)


def proposer(sampler: Sampler, position: int) -> Sampler:
    """The sampler of a drafter under a rule that does not couple: the target's parameters with independent noise."""
    return sampler.reseeded(stream_seed(sampler.seed, PROPOSALS, position))
