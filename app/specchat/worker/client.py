"""The application's side of the engine: everything it can be asked, whatever happens to its process."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.worker.process import EngineProcess
from specchat.worker.process_log import ENDED
from specchat.worker.protocol import (
    NO_TOOLS,
    Cancel,
    ChatMessage,
    Command,
    Event,
    Freeze,
    Generate,
    Inspect,
    Keep,
    Kept,
    Load,
    Loaded,
    Offer,
    Prefix,
    Prepare,
    Recall,
    Set,
    Step,
    Threads,
    Time,
    WorkerFailed,
)

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings

_ANSWERING = "an answer is being given: look closer when it has ended"


class WorkerClient:
    """One child process, started on demand and again after it died.

    Methods that return events block until the engine answers: call them in a thread. One of them runs at a time, the
    others wait. Whatever happens to the process, each ends with exactly one Loaded, Ended, Inspected, Kept, Recalled,
    Timed or WorkerFailed. Any thread may call the other methods at any time.
    """

    def __init__(self, log_path: Path) -> None:
        self._process = EngineProcess(log_path)
        self._pair: Load | None = None
        self._pair_is_loaded = False
        self._answering = False
        self._stops = self._sets = 0
        self._settings: Settings | None = None
        self._setting = threading.Lock()
        self._one_at_a_time = threading.Lock()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process.alive

    def begin_load(self, target: Path, draft: Path | None, options: LoadOptions) -> None:
        """Starts loading a pair before anyone can listen; the same `load` then has the events."""
        self._process.begin(_load(target, draft, options))

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Loads a pair: Loading…, then Loaded or WorkerFailed."""
        with self._one_at_a_time:
            self._pair = _load(target, draft, options)
            yield from self._load_pair()

    def generate(
        self,
        messages: Sequence[ChatMessage],
        *,
        turn: int,
        attempt: int,
        seed: int,
        settings: Settings,
        prefix: Prefix = (),
        frozen: bool = False,
        prediction: str = "",
        tools: Offer = NO_TOOLS,
    ) -> Iterator[Event]:
        """Answers a conversation: PromptProgress…, Started, Notice, Round…, then Ended or WorkerFailed.

        The answer begins with `prefix`, which no round has, and probably repeats `prediction`. A `frozen`
        answer sends Started and then waits for `step` or `freeze(False)`. After the process died the last pair is
        loaded again first, with its Loading and Loaded events. A `cancel` after this call stops the answer, and a `set`
        changes its settings, also before its first event.
        """
        stops, sets = self._stops, self._sets

        def sent() -> None:  # what was said before the process knew of this answer is said again
            with self._setting:
                if self._settings is not None and self._sets > sets:
                    self._process.send(Set(self._settings))
            if self._stops > stops:
                self._process.send(Cancel())

        command = Generate(tuple(messages), turn, attempt, seed, settings, prefix, frozen, prediction, tools)
        return self._answer(command, sent)

    def inspect(
        self,
        messages: Sequence[ChatMessage],
        tokens: Sequence[int],
        position: int,
        *,
        asked: Sequence[int] = (),
        sharpness: float = 1.0,
        seed: int,
        settings: Settings,
        tools: Offer = NO_TOOLS,
    ) -> Iterator[Event]:
        """Looks again at one output position of an answer with these ids: Inspected or WorkerFailed.

        WorkerFailed at once while an answer is being given, also a frozen one. A process that died is started again,
        with its Loading and Loaded events.
        """
        if self._answering:
            yield WorkerFailed(_ANSWERING)
            return
        with self._one_at_a_time:
            command = Inspect(tuple(messages), tuple(tokens), position, tuple(asked), sharpness, seed, settings, tools)
            yield from self._with_the_pair(command)

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        """Times a draft with a target: Loading…, Timing…, then Timed or WorkerFailed.

        The loaded pair makes room, and is loaded again before the next answer. WorkerFailed at once while an answer is
        being given.
        """
        if self._answering:
            yield WorkerFailed("an answer is being given: time drafts when it has ended")
            return
        with self._one_at_a_time:
            self._pair_is_loaded = False
            yield from self._process.converse(Time(str(target), str(draft), options, seconds))

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        """Writes the prompt caches to a folder: Kept, which says why if they were not written, or WorkerFailed.

        Nothing is written if it takes more than `limit` bytes, or if the process has died.
        """
        with self._one_at_a_time:
            if self.alive and self._pair_is_loaded:
                yield from self._process.converse(Keep(str(folder), limit))
            else:
                yield Kept(False, "no model is loaded: nothing was read that could be kept")

    def recall(self, folder: Path) -> Iterator[Event]:
        """Restores the prompt caches from a folder: Recalled or WorkerFailed.

        A process that died is started again, with its Loading and Loaded events.
        """
        with self._one_at_a_time:
            yield from self._with_the_pair(Recall(str(folder)))

    def prepare(
        self, messages: Sequence[ChatMessage], *, seed: int, settings: Settings, tools: Offer = NO_TOOLS
    ) -> None:
        """Lets an idle engine read what will probably be asked, without events; a later call ends it."""
        if self._pair_is_loaded:
            self._process.send(Prepare(tuple(messages), seed, settings, tools))

    def set(self, settings: Settings) -> None:
        """Changes the settings of the running answer from its next round on. Does nothing while none runs."""
        with self._setting:
            self._sets, self._settings = self._sets + 1, settings
            self._process.send(Set(settings))

    def use_threads(self, options: LoadOptions) -> None:
        """Computes with the threads of these options from the next pass on, and when the pair is loaded again."""
        if self._pair is not None:
            own = self._pair.options
            counted = replace(own, threads=options.threads, threads_draft=options.threads_draft)
            self._pair = replace(self._pair, options=counted)
        self._process.send(Threads(options.threads, options.threads_draft))

    def freeze(self, on: bool) -> None:
        """Holds the running answer before its next round, or lets it continue. Does nothing while none runs."""
        self._process.send(Freeze(on))

    def step(self, rounds: int = 1) -> None:
        """Lets a frozen answer make this many rounds. Does nothing while none is frozen."""
        self._process.send(Step(rounds))

    def cancel(self) -> None:
        """Stops the running load, answer, timing or inspection, which then ends as usual."""
        self._stops += 1
        self._process.send(Cancel())

    def close(self) -> None:
        """Ends the process, by force if necessary. A running call ends with WorkerFailed."""
        child = self._process.close()
        if child is not None and self._one_at_a_time.acquire(blocking=False):
            self._process.bury(child)
            self._one_at_a_time.release()

    def _answer(self, command: Generate, sent: Callable[[], None]) -> Iterator[Event]:
        with self._one_at_a_time:
            self._answering = True
            try:
                yield from self._with_the_pair(command, sent)
            finally:
                self._answering = False

    def _with_the_pair(self, command: Command, sent: Callable[[], None] = lambda: None) -> Iterator[Event]:
        """The events of a command; the last pair is loaded again first if the process died."""
        if not (self.alive and self._pair_is_loaded):
            for event in self._load_pair():
                yield event
                if isinstance(event, WorkerFailed):
                    return
        yield from self._process.converse(command, sent)

    def _load_pair(self) -> Iterator[Event]:
        if self._pair is None:
            yield WorkerFailed("no model is loaded yet")
            return
        self._pair_is_loaded = False
        for event in self._process.converse(self._pair):
            self._pair_is_loaded = isinstance(event, Loaded)
            yield named(event, self._pair) if isinstance(event, WorkerFailed) else event


def named(failed: WorkerFailed, pair: Load) -> WorkerFailed:
    """The same, with the files that were loading when the process died, if its log does not name them."""
    names = [name for name in (pair.target, pair.draft) if name]
    if not failed.message.startswith(ENDED) or any(name in failed.message for name in names):
        return failed
    return replace(failed, message=f"{failed.message}; it was loading {' and '.join(names)}")


def _load(target: Path, draft: Path | None, options: LoadOptions) -> Load:
    return Load(str(target), None if draft is None else str(draft), options)
