"""How many threads the models of an engine use: the requested number, the fastest, or what other programs leave."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
from specchat_engine.threads.cpu_contention import CpuContention, Passes
from specchat_engine.threads.processors import Processors


class ThreadedModel(SessionModel, Protocol):
    """A model that reads prompts with a thread count of its own."""

    reading_threads: int
    """How many threads compute passes without logits."""

    @property
    def on_gpu(self) -> bool:
        """Whether all of its layers lie on a GPU."""


@dataclass(frozen=True, slots=True)
class ThreadsInForce:
    """The threads of the target and of the draft model (0 without one), and the reasons.

    Reasons are empty for requested numbers. `reading` threads compute the target's prompts.
    """

    target: int
    draft: int
    reading: int
    because: str = ""
    draft_because: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """The threads of the target and of the draft model."""
        return self.target, self.draft

    def to_json(self) -> dict[str, Any]:
        """The counts and the choices, as written under `machine` in a trace."""
        because = {"threads": self.because, "threads_draft": self.draft_because}
        told: dict[str, Any] = {"threads": self.target, "threads_prompt": self.reading}
        if self.draft:
            told["threads_draft"] = self.draft
        return told | {"threads_because": {name: text for name, text in because.items() if text}}


class Threads:
    """Sets the threads of a pair, and measures which numbers are fastest if the user did not choose.

    Prompts are read with the number that was asked for, else with one thread for each core. A draft model never has
    more threads than its target. A choice stays until another number is clearly faster. If no number was asked for,
    fewer threads compute while other programs keep the cores busy.
    """

    def __init__(
        self,
        target: ThreadedModel,
        draft: ThreadedModel | None,
        processors: Processors,
        asked: tuple[ThreadCount, ThreadCount],
        heads: Sequence[ThreadedModel] = (),
        further: Sequence[ThreadedModel] = (),
    ) -> None:
        """The `heads` always compute with as many threads as the target, `further` draft models with as many as the
        first one."""
        self._target, self._draft, self._heads = target, draft, heads
        self._drafts = (*([draft] if draft else []), *further)
        self._processors = processors
        self._chosen: dict[str, Choice] = {}
        self._asked = asked
        self._contention: CpuContention | None = None
        self._applying = Lock()
        self._apply()

    def add(self, draft: ThreadedModel) -> None:
        """Takes in one more draft model."""
        self._drafts = (*self._drafts, draft)
        self._apply()

    def ask(self, target: ThreadCount, draft: ThreadCount) -> None:
        """Asks for other numbers, in force from the next pass on. May be called from any thread."""
        self._asked = target, draft
        self._apply()

    @property
    def in_force(self) -> ThreadsInForce:
        """The numbers in force, and why if they were chosen."""
        target, draft = self._choice("target"), self._choice("draft")
        because = [text for text in (str(target or ""), self.contended) if text]
        return ThreadsInForce(
            self._target.threads,
            self._draft_threads,
            self._target.reading_threads,
            "; ".join(because),
            str(draft) if draft else "",
        )

    @property
    def contended(self) -> str:
        """How many threads other programs leave, in words; empty if all. Do not measure anything else meanwhile."""
        contention = self._contention
        if contention is None or contention.settled == contention.threads:
            return ""
        return f"other programs keep cores busy: {contention.settled} of {contention.threads} threads compute"

    def passed(self, passes: Passes) -> bool:
        """Takes note of the target's latest passes; returns whether another number stays in force from now on.

        Call it between two passes, from the thread that makes them.
        """
        contention = self._contention
        if contention is None:
            return False
        count, settled = contention.count, contention.settled
        contention.passed(passes, monotonic(), process_time(), self._draft_threads)
        if contention.count != count:
            self._apply()
        return contention.settled != settled

    def trying(self, today: date, controller: Controller) -> Iterator[None]:
        """Measures where no number was requested and no recent choice exists. Yields after each step, to stop there.

        The controller learns what the passes cost. After each step the models' memories are as before. Raises
        DecodeError if llama.cpp fails.
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
        """The choices, to be kept for the next start."""
        return {role: choice.to_json() for role, choice in self._chosen.items()}

    def take(self, kept: Mapping[str, Any]) -> None:
        """Takes over choices that `to_json` wrote. Raises ValueError for anything else, and changes nothing then."""
        most = max(self._processors.candidates)
        self._chosen = {role: choice for role, choice in read_choices(kept).items() if choice.threads <= most}
        self._apply()

    def _steps(self, trial: Iterator[None]) -> Iterator[None]:
        """Runs a trial. After each step the threads are as requested again; the request may have changed meanwhile."""
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
            self._contention = None
        elif self._contention is None or self._contention.threads != threads:
            self._contention = CpuContention(threads)
        self._target.threads = self._contention.count if self._contention else threads
        for head in self._heads:
            head.threads, head.reading_threads = self._target.threads, self._target.reading_threads

    def _apply_draft(self) -> None:
        asked_draft, chosen_draft, most = self._asked[1], self._choice("draft"), self._target.threads
        fixed = 0 if asked_draft == AUTO else asked_draft
        for draft in self._drafts:
            draft.threads = fixed or (min(chosen_draft.threads, most) if chosen_draft else most)
            draft.reading_threads = fixed or self._target.reading_threads

    @property
    def _draft_threads(self) -> int:
        return self._drafts[0].threads if self._drafts else 0

    def _choice(self, role: str) -> Choice | None:
        """The measured choice for a model without a requested number of threads."""
        return self._chosen.get(role) if self._is_free(role) else None

    def _is_free(self, role: str) -> bool:
        """Whether the engine chooses a model's number of threads; on a GPU there is nothing to choose."""
        models, asked = ((self._target,), self._asked[0]) if role == "target" else (self._drafts[:1], self._asked[1])
        return asked == AUTO and any(not model.on_gpu for model in models)

    def _is_due(self, role: str, today: date) -> bool:
        choice = self._choice(role)
        return self._is_free(role) and not self.contended and not (choice and choice.is_fresh(today))

    def _choose(self, role: str, trial: Trial, today: date) -> None:
        """Takes over the result of a trial, unless it was stopped or a number was asked for meanwhile."""
        if self._is_free(role) and trial.speeds and not trial.block:
            self._chosen[role] = Choice.of(trial, today)
            self._apply()
