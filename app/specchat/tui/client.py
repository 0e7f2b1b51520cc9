"""What the terminal app needs of an engine: the worker's client has it, and so does the scripted one of the tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from specchat.worker.protocol import ChatMessage, Event

if TYPE_CHECKING:
    from specchat_engine.options import LoadOptions
    from specchat_engine.settings import Settings


class EngineClient(Protocol):
    """Loads a pair and answers conversations; `load` and `generate` block, the others may be called meanwhile."""

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Ends with Loaded or WorkerFailed."""
        ...

    def generate(
        self, messages: Sequence[ChatMessage], *, turn: int, attempt: int, seed: int, settings: Settings
    ) -> Iterator[Event]:
        """Ends with Ended or WorkerFailed."""
        ...

    def prepare(self, messages: Sequence[ChatMessage], *, seed: int, settings: Settings) -> None:
        """Lets an idle engine read what will probably be asked."""
        ...

    def set(self, settings: Settings) -> None:
        """New settings for the running answer, from its next round on."""
        ...

    def cancel(self) -> None:
        """Stops the running load or answer."""
        ...

    def close(self) -> None:
        """Ends the engine; a running call ends too."""
        ...
