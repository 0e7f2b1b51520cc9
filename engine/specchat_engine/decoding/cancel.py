"""Whether an answer is to stop."""

from __future__ import annotations


class Cancel:
    """A flag that any thread may raise. It is called where a function wants to know, and read where that takes long.

    It knows nothing of what it stops, so that whoever asks it holds on to nothing else.
    """

    __slots__ = ("asked",)

    def __init__(self) -> None:
        self.asked = False

    def __call__(self) -> bool:
        return self.asked
