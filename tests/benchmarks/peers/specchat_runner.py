"""specchat itself, in this process."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.peers.contest import Result, Task
from specchat.bench.measure import Runner as Bench
from specchat.bench.measure import Setup
from specchat.bench.plan import Arm, Turn
from specchat_engine import Engine, LoadOptions, Message
from specchat_engine.prompt import encode


class Specchat:
    """One drafter and k on an engine that all of them share, each with a controller of its own."""

    peer = "specchat"

    def __init__(self, engine: Engine, arm: Arm) -> None:
        self.name = arm.label
        self._arm = arm
        self._engine = engine
        self._bench: Bench | None = None

    def answer(self, task: Task) -> Result:
        """Answers from empty memories; the first call measures what passes cost, as the application does."""
        setup = Setup(None, replace(self._engine.recommended), "coupled", task.max_tokens, task.seed)
        turn = Turn(self._arm, task.temperature, task.kind, task.number, 0, task.text)
        if self._bench is None:
            self._bench = Bench(self._engine, setup)
            self._bench.warm_up([turn])
        sample = next(self._bench.measure([turn]))
        return Result(sample.num_tokens, sample.wall_ms)

    def close(self) -> None:
        """The engine is closed by whoever opened it."""


def open_engine(target: Path, draft: Path, threads: int) -> Engine:
    """The pair, with as many threads as the others get."""
    return Engine.load(target, draft, LoadOptions(threads=threads, n_ctx=1024))


def prompt_ids(engine: Engine, text: str) -> tuple[int, ...]:
    """A prompt in the chat template's words, as all runners read it."""
    return tuple(encode([Message("user", text)], engine._template, engine.vocabulary))
