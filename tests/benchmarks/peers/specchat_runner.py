"""specchat, in this process."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path

from benchmarks.peers.contest import Result, Task
from specchat.bench.measure import Runner as Bench
from specchat.bench.measure import Setup
from specchat.bench.plan import Arm, Turn
from specchat_engine import Engine, LoadOptions, Message, Session, Settings
from specchat_engine.prompt.encoding import encode
from specchat_engine.settings import AUTO


class Specchat:
    """One drafter and k. All share an engine, and each has its own controller."""

    peer = "specchat"

    def __init__(self, engine: Engine, arm: Arm) -> None:
        self.name = arm.label
        self._arm = arm
        self._engine = engine
        self._bench: Bench | None = None

    def answer(self, task: Task) -> Result:
        """Answers with empty caches. The first call calibrates the cost model, as the app does."""
        setup = Setup(None, replace(self._engine.recommended), "coupled", task.max_tokens, task.seed)
        turn = Turn(self._arm, task.temperature, task.kind, task.number, 0, task.text)
        if self._bench is None:
            self._bench = Bench(self._engine, setup)
            self._bench.warm_up([turn])
        sample = next(self._bench.measure([turn]))
        return Result(sample.num_tokens, sample.wall_ms)

    def close(self) -> None:
        """Does nothing: the caller closes the engine."""


class OneSession:
    """specchat's default in one continuing session that looks up everything it has said.

    The server's n-gram types that keep a pool do the same. The models' caches are empty before each answer.
    """

    peer = "specchat"
    name = "hybrid auto, one session"

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._session: Session | None = None

    def answer(self, task: Task) -> Result:
        """Answers with empty caches. The first call calibrates the cost model, as the app does."""
        engine = self._engine
        if self._session is None:
            for _ in engine.measuring():
                pass
            shared, engine.controller = engine.controller, copy.deepcopy(engine.controller)
            self._session = engine.session(seed=task.seed)
            engine.controller = shared
        engine.forget()
        session, sampling = self._session, replace(engine.recommended, temperature=task.temperature)
        session.seed = task.seed
        session.settings = Settings(k=AUTO, sampling=sampling, max_tokens=task.max_tokens)
        for _ in session.answer([Message("user", task.text)], 0):
            pass
        return Result(session.stats.num_tokens, session.stats.wall_ms)

    def close(self) -> None:
        """Does nothing: the caller closes the engine."""


def open_engine(target: Path, draft: Path, threads: int) -> Engine:
    """Loads the pair with as many threads as the other tools get."""
    return Engine.load(target, draft, LoadOptions(threads=threads, n_ctx=1024))


def prompt_ids(engine: Engine, text: str) -> tuple[int, ...]:
    """A prompt rendered with the chat template, as all runners read it."""
    return tuple(encode([Message("user", text)], engine._template, engine.vocabulary))
