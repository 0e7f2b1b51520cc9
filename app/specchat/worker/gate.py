"""Where an answer waits before its next round while it is frozen."""

from __future__ import annotations

from threading import Condition


class Gate:
    """Open unless it is frozen; turned from any thread, while one waits in front of it."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._frozen = False
        self._rounds = 0
        self._stopped = False

    @property
    def holds(self) -> bool:
        """Whether the next round would have to wait."""
        with self._changed:
            return self._frozen and not self._rounds

    def begin(self, frozen: bool) -> None:
        """A new answer comes; what was asked for the last one is forgotten."""
        with self._changed:
            self._stopped = False
        self.freeze(frozen)

    def freeze(self, on: bool) -> None:
        """Holds the next round, or lets all go on. Rounds that were to be let through no longer are."""
        with self._changed:
            self._frozen, self._rounds = on and not self._stopped, 0
            self._changed.notify_all()

    def step(self, rounds: int) -> None:
        """Lets so many more rounds through, where it is frozen."""
        with self._changed:
            if self._frozen:
                self._rounds += max(rounds, 0)
                self._changed.notify_all()

    def stop(self) -> None:
        """Lets all go on until the next answer: this one is to end, whoever wants to freeze it."""
        with self._changed:
            self._stopped = True
        self.freeze(False)

    def wait(self) -> None:
        """Returns when the next round may be made."""
        with self._changed:
            while self._frozen and not self._rounds:
                self._changed.wait()
            self._rounds = max(self._rounds - 1, 0)
