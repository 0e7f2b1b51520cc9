"""Measures in about half a minute how much one draft model gains with its target on this machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from time import monotonic

from specchat.bench.gain import Gain
from specchat.bench.measure import Runner, Setup
from specchat.bench.plan import DRAFTED, PLAIN, turns
from specchat.bench.samples import Sample, summed
from specchat.bench.summary import overall
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine

_MOST_TOKENS, _FEWEST_TOKENS = 96, 16
_PROMPTS = 4
"""The fewest prompts to answer in the given time; slow models answer with fewer tokens to reach it."""

_SEED = 1
_REPEATS = 100


def time_draft(
    engine: Engine,
    seconds: float,
    clock: Callable[[], float] = monotonic,
    hear: Callable[[float], None] | None = None,
) -> Gain | None:
    """Alternates plain and drafted answers for `seconds`, at least one of each. None if no answer had a token.

    Uses prompts of all kinds, the usual k, and the target's own sampling. `hear` is called after each round with the
    elapsed share of the time, from 0 to 1; an exception that it raises stops the measurement. Raises EngineError if an
    answer fails.
    """
    planned = turns((PLAIN, DRAFTED), benchmark_prompts(short=True), (engine.recommended.temperature,), _REPEATS, _SEED)
    setup = Setup(None, engine.recommended, "coupled", _FEWEST_TOKENS, _SEED)
    first = [*islice(planned, 2)]
    begin: float | None = None

    def after_round() -> None:
        if hear is not None:
            hear(0.0 if begin is None else min((clock() - begin) / max(seconds, 1e-6), 1.0))

    runner = Runner(engine, setup, after_round)
    runner.warm_up(first)
    spent = sum(sample.wall_ms / max(sample.num_tokens, 1) for sample in runner.measure(first)) / 1000
    tokens = int(min(max(seconds / _PROMPTS / max(spent, 1e-6), _FEWEST_TOKENS), _MOST_TOKENS))
    runner = Runner(engine, replace(setup, max_tokens=tokens), after_round)
    begin = clock()
    samples = [*runner.measure(first)]
    while clock() - begin < seconds and (pair := [*islice(planned, 2)]):
        samples += runner.measure(pair)
    return summed_up(samples)


def summed_up(samples: list[Sample]) -> Gain | None:
    """The gain of the drafted answers over the plain ones; None if they cannot be compared."""
    means = {mean.arm: mean.end_to_end_ratio for mean in overall(samples, (PLAIN, DRAFTED), None)}
    if DRAFTED not in means:
        return None
    drafted = [sample for sample in samples if sample.arm == DRAFTED]
    return Gain(
        means[DRAFTED],
        _speed(drafted),
        _speed([sample for sample in samples if sample.arm == PLAIN]),
        summed(drafted).alpha,
    )


def _speed(samples: list[Sample]) -> float:
    wall = sum(sample.wall_ms for sample in samples)
    return 1000 * sum(sample.num_tokens for sample in samples) / wall if wall else 0.0
