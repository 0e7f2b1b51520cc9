"""A command from the moment when it was heard to its last event, and the gate at which a frozen answer waits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock
from typing import TYPE_CHECKING

from specchat.engine_process.protocol import Generate, Task

if TYPE_CHECKING:
    from specchat_engine import Session
    from specchat_engine.settings import Settings


class Gate:
    """Open unless it is frozen. Any thread may turn it while another one waits at it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._frozen = False
        self._rounds = 0
        self._stopped = False

    @property
    def holds(self) -> bool:
        """True if the next round has to wait."""
        with self._changed:
            return self._frozen and not self._rounds

    def begin(self, frozen: bool) -> None:
        """Prepares for a new answer; requests for the last one are dropped."""
        with self._changed:
            self._stopped = False
        self.freeze(frozen)

    def freeze(self, on: bool) -> None:
        """Holds the next round, or opens the gate. Steps that were not used are dropped."""
        with self._changed:
            self._frozen, self._rounds = on and not self._stopped, 0
            self._changed.notify_all()

    def step(self, rounds: int) -> None:
        """Lets this many more rounds through if it is frozen."""
        with self._changed:
            if self._frozen:
                self._rounds += max(rounds, 0)
                self._changed.notify_all()

    def stop(self) -> None:
        """Opens the gate until the next answer: this one is to end, and cannot be frozen any more."""
        with self._changed:
            self._stopped = True
        self.freeze(False)

    def wait(self) -> None:
        """Waits until the next round may be made."""
        with self._changed:
            while self._frozen and not self._rounds:
                self._changed.wait()
            self._rounds = max(self._rounds - 1, 0)


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
