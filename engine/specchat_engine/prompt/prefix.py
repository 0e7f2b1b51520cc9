"""How much two token sequences have in common at their beginning: what a cache or an index can keep."""

from __future__ import annotations

from collections.abc import Sequence


def common_prefix(old: Sequence[int], new: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    length = min(len(old), len(new))
    return next((place for place in range(length) if old[place] != new[place]), length)
