"""Measures answers one by one on an engine in this process, and in half a minute what one draft model gains."""

from __future__ import annotations

import copy
import hashlib
import resource
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from itertools import islice
from time import monotonic

from specchat.bench.plan import DRAFTED, PLAIN, Arm, BenchTurn, turns
from specchat.bench.samples import Gain, Sample, summed
from specchat.bench.summary import overall
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine import Engine, Round, Settings
from specchat_engine.policy.controller import Controller

WARM_UP_TOKENS = 16


@dataclass(frozen=True, slots=True)
class Setup:
    """What all answers of a run share. A turn has a drafter, k and temperature of its own in place of those of `base`.

    The seed of repeat r is `seed` + r.
    """

    system: str | None
    base: Settings
    seed: int

    def settings(self, arm: Arm, temperature: float) -> Settings:
        """The settings with which an arm answers."""
        sampling = replace(self.base.sampling, temperature=temperature)
        return replace(self.base, k=arm.k, drafter=arm.drafter, sampling=sampling)

    def limited(self, tokens: int) -> Setup:
        """The same with answers of at most this many tokens."""
        return replace(self, base=replace(self.base, max_tokens=tokens))


class BenchRunner:
    """Measures turns on an engine.

    Each arm has its own controller, which starts with what the engine's had learned. An adaptive arm then learns costs
    and acceptance only from its own answers, as it would in normal use.
    """

    def __init__(self, engine: Engine, setup: Setup, after_round: Callable[[], None] = lambda: None) -> None:
        """`after_round` is called after each round and measuring pass; an exception that it raises stops the answer."""
        self._engine = engine
        self._setup = setup
        self._after_round = after_round
        self._known = engine.controller
        self._controllers: dict[Arm, Controller] = {}

    def warm_up(self, first: Iterable[BenchTurn]) -> None:
        """Answers a few words for each of the turns, so that one-time costs of first passes are not measured.

        The engine also measures the cost of passes, as it does in the application when it is idle.
        """
        for _ in self._engine.measuring():
            self._after_round()
        short = self._setup.limited(min(WARM_UP_TOKENS, self._setup.base.max_tokens))
        for turn in first:
            self._answer(short, turn)

    def measure(self, turns: Iterable[BenchTurn]) -> Iterator[Sample]:
        """One sample for each turn, in order. Raises EngineError if an answer fails."""
        for turn in turns:
            yield self._answer(self._setup, turn)

    def _answer(self, setup: Setup, turn: BenchTurn) -> Sample:
        """Answers in a fresh session with empty caches, so that every arm reads its whole prompt."""
        engine = self._engine
        engine.forget()
        if turn.arm not in self._controllers:
            self._controllers[turn.arm] = copy.deepcopy(self._known)
        engine.controller = self._controllers[turn.arm]
        session = engine.session(setup.system, setup.settings(turn.arm, turn.temperature), setup.seed + turn.repeat)
        rounds: list[Round] = []
        for event in session.generate(turn.text):
            rounds.append(event)
            self._after_round()
        full = [event.ms.verify for event in rounds if event.drafted and len(event.drafted) == turn.arm.k]
        stats = session.stats
        counted = {each.name: getattr(stats, each.name) for each in fields(Sample) if hasattr(stats, each.name)}
        return Sample(
            **counted,
            arm=turn.arm,
            temperature=turn.temperature,
            kind=turn.kind,
            prompt=turn.prompt,
            repeat=turn.repeat,
            full_rounds=len(full),
            full_verify_ms=sum(full),
            text_hash=hashlib.blake2b(session.text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest(),
        )


def peak_memory_bytes() -> int:
    """The largest amount of memory that this process has used so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


_MOST_TOKENS, _FEWEST_TOKENS = 96, 16
_PROMPTS = 4
"""The fewest prompts to answer in the given time; slow models answer with fewer tokens to reach it."""

_TIMING_SEED, _TIMING_REPEATS = 1, 100


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
    planned = turns(
        (PLAIN, DRAFTED),
        benchmark_prompts(short=True),
        (engine.recommended.temperature,),
        _TIMING_REPEATS,
        _TIMING_SEED,
    )
    setup = Setup(None, Settings(sampling=engine.recommended, max_tokens=_FEWEST_TOKENS), _TIMING_SEED)
    first = [*islice(planned, 2)]
    begin: float | None = None

    def after_round() -> None:
        if hear is not None:
            hear(0.0 if begin is None else min((clock() - begin) / max(seconds, 1e-6), 1.0))

    runner = BenchRunner(engine, setup, after_round)
    runner.warm_up(first)
    spent = sum(sample.wall_ms / max(sample.num_tokens, 1) for sample in runner.measure(first)) / 1000
    tokens = int(min(max(seconds / _PROMPTS / max(spent, 1e-6), _FEWEST_TOKENS), _MOST_TOKENS))
    runner = BenchRunner(engine, setup.limited(tokens), after_round)
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
