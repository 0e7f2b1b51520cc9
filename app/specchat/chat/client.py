"""The engine as the terminal app sees it: the protocol of the worker's client and of the scripted one in tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from specchat.worker.protocol import ChatMessage, Event
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings


class EngineClient(Protocol):
    """Loads a pair and answers conversations. Methods that give events block; the others may be called meanwhile."""

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Ends with Loaded or WorkerFailed."""
        ...

    def generate(
        self,
        messages: Sequence[ChatMessage],
        *,
        turn: int,
        attempt: int,
        seed: int,
        settings: Settings,
        prefix: Sequence[int] = (),
        frozen: bool = False,
    ) -> Iterator[Event]:
        """An answer that begins with `prefix`. With `frozen` it waits before its first round.

        Ends with Ended or WorkerFailed. A later `cancel` stops it, even before its first event.
        """
        ...

    def inspect(
        self,
        messages: Sequence[ChatMessage],
        tokens: Sequence[int],
        position: int,
        *,
        asked: Sequence[int] = (),
        seed: int,
        settings: Settings,
    ) -> Iterator[Event]:
        """Computes one output position of an answer again; ends with Inspected or WorkerFailed."""
        ...

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        """Measures a draft with a target instead of the loaded pair; ends with Timed or WorkerFailed."""
        ...

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        """Saves the prompt cache to a folder, at most `limit` bytes; ends with Kept or WorkerFailed."""
        ...

    def recall(self, folder: Path) -> Iterator[Event]:
        """Restores the prompt cache saved there; ends with Recalled or WorkerFailed."""
        ...

    def prepare(self, messages: Sequence[ChatMessage], *, seed: int, settings: Settings) -> None:
        """Lets an idle engine read the messages that will probably be asked."""
        ...

    def set(self, settings: Settings) -> None:
        """Changes the settings of the running answer from its next round on."""
        ...

    def use_threads(self, options: LoadOptions) -> None:
        """Uses the numbers of threads in these options from the next pass on."""
        ...

    def freeze(self, on: bool) -> None:
        """Pauses the running answer before its next round, or resumes it."""
        ...

    def step(self, rounds: int = 1) -> None:
        """Lets a paused answer decode this many rounds."""
        ...

    def cancel(self) -> None:
        """Stops the running load, answer or timing."""
        ...

    def close(self) -> None:
        """Ends the engine and any running call."""
        ...
