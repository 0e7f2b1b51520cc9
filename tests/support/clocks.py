"""A clock in place of the machine's."""

from __future__ import annotations


class Clock:
    """Stands still but for a microsecond at each look, and for the milliseconds that are let pass by."""

    def __init__(self) -> None:
        self.now = 0

    def __call__(self) -> int:
        self.now += 1000
        return self.now

    def pass_by(self, milliseconds: float) -> None:
        self.now += round(milliseconds * 1e6)
