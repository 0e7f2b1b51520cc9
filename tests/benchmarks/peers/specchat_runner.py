"""specchat, in this process."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks.peers.contest import Result, Task
from specchat.bench.plan import PLAIN, Arm
from specchat_engine import Engine, LoadOptions, Message, Session, Settings
from specchat_engine.policy.controller import Controller
from specchat_engine.prompt.encoding import Encoded, Fitted, encode, fit


class Specchat:
    """One drafter and k. All share an engine, and each has its own controller, which starts without a record.

    Each answer is given in a new session, or all in one session that looks up everything it has said, as the server's
    n-gram types do that keep a pool. The models' caches are empty before each answer.
    """

    peer = "specchat"

    def __init__(self, engine: Engine, arm: Arm, *, one_session: bool = False) -> None:
        self.name = f"{arm.label}, one session" if one_session else arm.label
        self._arm, self._engine, self._one_session = arm, engine, one_session
        self._controller: Controller | None = None
        self._session: Session | None = None

    def answer(self, task: Task) -> Result:
        """Answers with empty caches. The first call measures passes, as the app does; nothing else of it is kept."""
        if self._controller is not None:
            return self._answer(task)
        for _ in self._engine.measuring():
            pass
        self._controller = copy.deepcopy(self._engine.controller)
        result = self._answer(task)
        self._controller, self._session = copy.deepcopy(self._engine.controller), None
        return result

    def _answer(self, task: Task) -> Result:
        engine = self._engine
        engine.forget()
        shared, engine.controller = engine.controller, self._controller or engine.controller
        session = self._session or engine.session(seed=task.seed)
        engine.controller = shared
        session.seed = task.seed
        session.settings = Settings(
            k=self._arm.k,
            drafter=self._arm.drafter,
            sampling=replace(engine.recommended, temperature=task.temperature),
            max_tokens=task.max_tokens,
        )
        for _ in session.answer(task.messages, 0):
            pass
        if self._one_session:
            self._session = session
        return Result(session.stats.num_tokens, session.stats.wall_ms)

    def close(self) -> None:
        """Does nothing: the caller closes the engine."""


def open_engine(target: Path, draft: Path, threads: int) -> Engine:
    """Loads the pair with as many threads as the other tools get."""
    return Engine.load(target, draft, LoadOptions(threads=threads, n_ctx=1024))


def prompt_ids(engine: Engine, messages: Sequence[Message]) -> tuple[int, ...]:
    """A transcript rendered with the chat template, as all runners read it."""
    return tuple(encode(messages, engine._template, engine.vocabulary))


def as_read(engine: Engine, messages: Sequence[Message]) -> Fitted:
    """What a session reads of a transcript: turns are dropped that would leave no room for an answer."""
    return fit(messages, lambda kept: Encoded(encode(kept, engine._template, engine.vocabulary)), engine.target.n_ctx)


def said(engine: Engine, text: str, tokens: int) -> str:
    """What the target answers to a question at temperature 0, in at most so many tokens."""
    settings = Settings(k=PLAIN.k, drafter=PLAIN.drafter, sampling=replace(engine.recommended, temperature=0.0))
    session = engine.session(settings=replace(settings, max_tokens=tokens), seed=1)
    for _ in session.generate(text):
        pass
    return session.text
