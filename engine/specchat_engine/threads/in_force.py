"""How many threads the models of an engine use: the requested number, or what other programs leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic, process_time
from typing import Any, Protocol

from specchat_engine.models import SessionModel
from specchat_engine.threads.cpu_contention import CpuContention, Passes


class ThreadedModel(SessionModel, Protocol):
    """A model that reads prompts with a thread count of its own."""

    reading_threads: int
    """How many threads compute passes without logits."""

    @property
    def on_gpu(self) -> bool:
        """Whether all of its layers lie on a GPU."""


@dataclass(frozen=True, slots=True)
class ThreadsInForce:
    """The threads of the target and of the draft model (0 without one).

    `reading` threads compute the target's prompts. `because` says how many threads other programs leave, empty if all.
    """

    target: int
    draft: int
    reading: int
    because: str = ""

    @property
    def counts(self) -> tuple[int, int]:
        """The threads of the target and of the draft model."""
        return self.target, self.draft

    def to_json(self) -> dict[str, Any]:
        """The counts and the reason, as written under `machine` in a trace."""
        counts: dict[str, Any] = {"threads": self.target, "threads_prompt": self.reading}
        if self.draft:
            counts["threads_draft"] = self.draft
        return counts | {"threads_because": {"threads": self.because} if self.because else {}}


class PairThreads:
    """Sets the threads of a pair.

    Where no number was asked for, the target computes with the `usual` number, and with fewer threads while other
    programs keep the cores busy; a draft model has as many threads as its target. Prompts are read with the number
    that was asked for, else with the usual one.
    """

    def __init__(
        self,
        target: ThreadedModel,
        draft: ThreadedModel | None,
        usual: int,
        requested: tuple[int, int],
        heads: Sequence[ThreadedModel] = (),
        further: Sequence[ThreadedModel] = (),
    ) -> None:
        """`requested` are the numbers for the target and the draft, 0 for none. The `heads` always compute with as many
        threads as the target, `further` draft models with as many as the first one."""
        self._target, self._heads = target, heads
        self._drafts = (*([draft] if draft else []), *further)
        self._usual = usual
        self._requested = requested
        self._contention: CpuContention | None = None
        self._applying = Lock()
        self._apply()

    def add(self, draft: ThreadedModel) -> None:
        """Takes in one more draft model."""
        self._drafts = (*self._drafts, draft)
        self._apply()

    def ask(self, target: int, draft: int) -> None:
        """Asks for other numbers, in force from the next pass on. May be called from any thread."""
        self._requested = target, draft
        self._apply()

    @property
    def in_force(self) -> ThreadsInForce:
        """The numbers in force."""
        return ThreadsInForce(self._target.threads, self._draft_threads, self._target.reading_threads, self.contended)

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

    def _apply(self) -> None:
        with self._applying:
            self._apply_target()
            self._apply_draft()

    def _apply_target(self) -> None:
        requested = self._requested[0]
        threads = requested or self._usual
        self._target.reading_threads = threads
        if requested or self._target.on_gpu or threads < 2:
            self._contention = None
        elif self._contention is None:
            self._contention = CpuContention(threads)
        self._target.threads = self._contention.count if self._contention else threads
        for head in self._heads:
            head.threads, head.reading_threads = self._target.threads, self._target.reading_threads

    def _apply_draft(self) -> None:
        requested = self._requested[1]
        for draft in self._drafts:
            draft.threads = requested or self._target.threads
            draft.reading_threads = requested or self._target.reading_threads

    @property
    def _draft_threads(self) -> int:
        return self._drafts[0].threads if self._drafts else 0
