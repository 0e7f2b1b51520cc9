"""The gate at which a frozen answer waits before its next round."""

from __future__ import annotations

from threading import Condition


class Gate:
    """Open unless it is frozen. Any thread may turn it while another one waits at it."""

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
