"""How many threads the models of an engine compute with: as asked for, as measured, or as other programs leave room."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from threading import Lock
from time import monotonic, process_time
from typing import Any, Protocol

from specchat_engine.drafters import ModelDrafter
from specchat_engine.load_options import ThreadCount
from specchat_engine.models import SessionModel
from specchat_engine.policy.controller import Controller
from specchat_engine.settings import AUTO
from specchat_engine.threads.choice import Choice, Trial, read_choices, try_draft_threads, try_target_threads
from specchat_engine.threads.cpu_contention import Crowding, Passes
from specchat_engine.threads.processors import Processors


class ThreadedModel(SessionModel, Protocol):
    """A model that reads prompts with a thread count of its own."""

    reading_threads: int
    """How many threads compute what gives no logits."""

    @property
    def on_gpu(self) -> bool:
        """Whether all of its layers lie on a GPU."""


@dataclass(frozen=True, slots=True)
class ThreadsInForce:
    """What both models compute with, 0 without a draft model, and of each why, empty where that is as asked for.

    `reading` threads compute the target's prompts.
    """

    target: int
    draft: int
    reading: int
    because: str = ""
    draft_because: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """The target's and the draft model's."""
        return self.target, self.draft

    def to_json(self) -> dict[str, Any]:
        """The counts and the choices as they stand under `machine` in a trace."""
        because = {"threads": self.because, "threads_draft": self.draft_because}
        told: dict[str, Any] = {"threads": self.target, "threads_prompt": self.reading}
        if self.draft:
            told["threads_draft"] = self.draft
        return told | {"threads_because": {name: text for name, text in because.items() if text}}


class Threads:
    """Sets the thread counts of a pair, and finds out the best where they are free.

    Prompts are read with the count that was asked for, else with one thread for each core. A draft model never has
    more threads than its target. What was chosen stays until another count is clearly faster. Where nobody asked for a
    number, fewer compute while other programs crowd the processors.
    """

    def __init__(
        self,
        target: ThreadedModel,
        draft: ThreadedModel | None,
        processors: Processors,
        asked: tuple[ThreadCount, ThreadCount],
    ) -> None:
        self._target, self._draft = target, draft
        self._processors = processors
        self._chosen: dict[str, Choice] = {}
        self._asked = asked
        self._crowding: Crowding | None = None
        self._applying = Lock()
        self._apply()

    def ask(self, target: ThreadCount, draft: ThreadCount) -> None:
        """Other counts, in force from the next pass on; from any thread."""
        self._asked = target, draft
        self._apply()

    @property
    def in_force(self) -> ThreadsInForce:
        """The counts, and why where they were chosen."""
        target, draft = self._choice("target"), self._choice("draft")
        because = [text for text in (str(target or ""), self.crowded) if text]
        return ThreadsInForce(
            self._target.threads,
            self._draft.threads if self._draft else 0,
            self._target.reading_threads,
            "; ".join(because),
            str(draft) if draft else "",
        )

    @property
    def crowded(self) -> str:
        """What other programs leave of the threads, empty where these leave all: no moment to measure anything else."""
        crowding = self._crowding
        if crowding is None or crowding.settled == crowding.threads:
            return ""
        return f"other programs keep cores busy: {crowding.settled} of {crowding.threads} threads compute"

    def passed(self, passes: Passes) -> bool:
        """Hears of the target's latest passes; whether other threads stay in force from now on.

        Called by whoever makes the passes, between two of them.
        """
        crowding = self._crowding
        if crowding is None:
            return False
        count, settled = crowding.count, crowding.settled
        crowding.passed(passes, monotonic(), process_time(), self._draft.threads if self._draft else 0)
        if crowding.count != count:
            self._apply()
        return crowding.settled != settled

    def trying(self, today: date, controller: Controller) -> Iterator[None]:
        """Measures what is free and has no fresh choice, and yields behind each step, so that one can stop.

        The controller learns what the passes cost. The models' memories are as before behind each step. Raises
        DecodeError where llama.cpp fails.
        """
        if self._is_due("target", today):
            trial = Trial(self._processors.candidates, self._target.threads)
            yield from self._steps(try_target_threads(self._target, trial, controller.targets))
            self._choose("target", trial, today)
        if self._draft and self._is_due("draft", today):
            fewer = [count for count in self._processors.candidates if count < self._target.threads]
            trial = Trial((self._target.threads, *fewer), self._draft.threads)
            costs = controller.costs_of(ModelDrafter.name).by_threads
            yield from self._steps(try_draft_threads(self._target, self._draft, trial, costs))
            self._choose("draft", trial, today)

    def to_json(self) -> dict[str, Any]:
        """The choices, to be kept."""
        return {role: choice.to_json() for role, choice in self._chosen.items()}

    def take(self, kept: Mapping[str, Any]) -> None:
        """Goes on with the choices that `to_json` wrote. Raises ValueError for anything else, and changes nothing."""
        most = max(self._processors.candidates)
        self._chosen = {role: choice for role, choice in read_choices(kept).items() if choice.threads <= most}
        self._apply()

    def _steps(self, trial: Iterator[None]) -> Iterator[None]:
        """The steps of a trial; behind each the counts are as asked for, which may have changed meanwhile."""
        try:
            for _ in trial:
                self._apply()
                yield
        finally:
            self._apply()

    def _apply(self) -> None:
        with self._applying:
            self._apply_target()
            self._apply_draft()

    def _apply_target(self) -> None:
        asked, usual, chosen = self._asked[0], self._processors.usual, self._choice("target")
        threads = (chosen.threads if chosen else usual) if asked == AUTO else asked or usual
        self._target.reading_threads = usual if asked == AUTO else threads
        if asked not in (AUTO, 0) or self._target.on_gpu or threads < 2:
            self._crowding = None
        elif self._crowding is None or self._crowding.threads != threads:
            self._crowding = Crowding(threads)
        self._target.threads = self._crowding.count if self._crowding else threads

    def _apply_draft(self) -> None:
        if self._draft is None:
            return
        asked_draft, chosen_draft, most = self._asked[1], self._choice("draft"), self._target.threads
        fixed = 0 if asked_draft == AUTO else asked_draft
        self._draft.threads = fixed or (min(chosen_draft.threads, most) if chosen_draft else most)
        self._draft.reading_threads = fixed or self._target.reading_threads

    def _choice(self, role: str) -> Choice | None:
        """What was chosen of a model whose threads are free."""
        return self._chosen.get(role) if self._is_free(role) else None

    def _is_free(self, role: str) -> bool:
        """Whether a model's threads are to be chosen; where all of it lies on a GPU there is nothing to choose."""
        model, asked = (self._target, self._asked[0]) if role == "target" else (self._draft, self._asked[1])
        return asked == AUTO and model is not None and not model.on_gpu

    def _is_due(self, role: str, today: date) -> bool:
        choice = self._choice(role)
        return self._is_free(role) and not self.crowded and not (choice and choice.is_fresh(today))

    def _choose(self, role: str, trial: Trial, today: date) -> None:
        """Takes what a trial came to, unless it did not come to its end or threads are no longer free."""
        if self._is_free(role) and trial.speeds and not trial.block:
            self._chosen[role] = Choice.of(trial, today)
            self._apply()
