"""What the two sides of split speculation tell each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draws:
    """The target's own tokens from a position on: the drafted ones that it drew too, and one more.

    `end` is why the answer ends with the last of them, None if it continues.
    """

    tokens: tuple[int, ...]
    end: str | None = None


DrawsFor = Callable[[int, Sequence[int]], Draws]
"""Asks the target for its draws from an output position on, given drafted tokens for it and those that follow."""
