"""A command from the moment when it was heard to its last event."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from specchat.engine_process.gate import Gate
from specchat.engine_process.protocol import Generate, Task

if TYPE_CHECKING:
    from specchat_engine import Session
    from specchat_engine.settings import Settings


class OpenTask:
    """A command that waits or is worked on. Any thread may stop it, or change the settings of an answer."""

    def __init__(self, number: int, command: Task) -> None:
        self.number = number
        self.command = command
        self.cancelled = False
        self.gate = Gate()
        self._settings: Settings | None = None
        self._session: Session | None = None
        self._guard = Lock()
        if isinstance(command, Generate):
            self._settings = command.settings
            self.gate.begin(command.frozen)

    def cancel(self) -> None:
        """Ends an answer before its next round, or between two chunks of its prompt; other commands when they look."""
        with self._guard:
            self.cancelled = True
            if self._session:
                self._session.cancel()
        self.gate.stop()

    def use(self, settings: Settings) -> None:
        """Changes the settings of an answer from its next round on."""
        with self._guard:
            self._settings = settings
            if self._session:
                self._session.settings = settings

    def apply(self, session: Session) -> None:
        """Gives the answer's present settings to a session."""
        with self._guard:
            if self._settings:
                session.settings = self._settings

    @contextmanager
    def answered_by(self, session: Session) -> Iterator[None]:
        """While a session answers it. Afterwards the session may belong to another answer."""
        with self._guard:
            self._session = session
        self.apply(session)
        try:
            yield
        finally:
            with self._guard:
                self._session = session.hold = session.watch = None
