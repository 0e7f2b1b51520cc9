"""A flag that stops an answer."""

from __future__ import annotations


class Cancel:
    """A flag that any thread may set. Calling it says whether it is set."""

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked
