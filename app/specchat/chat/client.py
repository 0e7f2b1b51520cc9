"""What the terminal app needs of an engine: the worker's client has it, and so does the scripted one of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from specchat.worker.protocol import ChatMessage, Event
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings


class EngineClient(Protocol):
    """Loads a pair and answers conversations. What gives events blocks; the others may be called meanwhile."""

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
        """An answer that begins with the `prefix`, waiting before its first round where it is `frozen`.

        Ends with Ended or WorkerFailed. A `cancel` behind this call stops it, also before its first event.
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
        """Looks again at one output position of an answer; ends with Inspected or WorkerFailed."""
        ...

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        """Times a draft with a target, in place of the loaded pair; ends with Timed or WorkerFailed."""
        ...

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        """Writes what the engine has read to a folder, `limit` bytes at most; ends with Kept or WorkerFailed."""
        ...

    def recall(self, folder: Path) -> Iterator[Event]:
        """Goes back to what was kept there; ends with Recalled or WorkerFailed."""
        ...

    def prepare(self, messages: Sequence[ChatMessage], *, seed: int, settings: Settings) -> None:
        """Lets an idle engine read what will probably be asked."""
        ...

    def set(self, settings: Settings) -> None:
        """New settings for the running answer, from its next round on."""
        ...

    def use_threads(self, options: LoadOptions) -> None:
        """Computes with the threads of these options from the next pass on."""
        ...

    def freeze(self, on: bool) -> None:
        """Holds the running answer before its next round, or lets it go on."""
        ...

    def step(self, rounds: int = 1) -> None:
        """Lets a frozen answer make so many rounds."""
        ...

    def cancel(self) -> None:
        """Stops the running load, answer or timing."""
        ...

    def close(self) -> None:
        """Ends the engine; a running call ends too."""
        ...
