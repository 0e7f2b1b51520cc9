"""The engine as the front ends use it, wherever it is: a process on this machine, or a server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specchat.engine_process.protocol import Event, Generate, Inspect, Prepare

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings


class EngineClient(Protocol):
    """An engine that answers one question at a time.

    Methods that return events block until the engine answers: call them in a thread. Each ends with exactly one Loaded,
    Ended, Inspected, Kept, Recalled, DraftTimed or TaskFailed. Any thread may call the other methods at any time.
    `LocalClient` says what each of them does.
    """

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Makes models ready: Loading…, then Loaded or TaskFailed."""

    def generate(self, request: Generate) -> Iterator[Event]:
        """Answers a conversation: PromptProgress…, Started, Notice, Round…, perhaps Recounted, then Ended or
        TaskFailed."""

    def inspect(self, request: Inspect) -> Iterator[Event]:
        """Looks again at one output position: Inspected or TaskFailed."""

    def time_draft(self, target: Path, draft: Path, options: LoadOptions, seconds: float) -> Iterator[Event]:
        """Times a draft with a target: DraftTrial…, then DraftTimed or TaskFailed."""

    def keep(self, folder: Path, *, limit: int) -> Iterator[Event]:
        """Writes the prompt caches to a folder: Kept or TaskFailed."""

    def recall(self, folder: Path) -> Iterator[Event]:
        """Restores the prompt caches from a folder: Recalled or TaskFailed."""

    def prepare(self, request: Prepare) -> None:
        """Lets an idle engine read what will probably be asked."""

    def set(self, settings: Settings) -> None:
        """Changes the settings of the running answer."""

    def use_threads(self, options: LoadOptions) -> None:
        """Computes with other numbers of threads."""

    def freeze(self, on: bool) -> None:
        """Holds the running answer before its next round, or lets it continue."""

    def step(self, rounds: int = 1) -> None:
        """Lets a frozen answer make this many rounds."""

    def cancel(self) -> None:
        """Stops what is running, which then ends as usual."""

    def close(self) -> None:
        """Ends everything."""
