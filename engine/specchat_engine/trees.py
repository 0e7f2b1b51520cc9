"""Trees of tokens, given by their parents: `parents[i]` is the index of the token that token i follows, or ROOT.

Parents come before those that follow them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

ROOT: Final = -1
"""The parent of tokens that follow the text before the tree."""


def chain_of(count: int) -> range:
    """The parents of a chain of this many tokens."""
    return range(ROOT, count - 1)


def depths_of(parents: Sequence[int]) -> list[int]:
    """How many tokens of the tree come before each one on its path."""
    depths: list[int] = []
    for parent in parents:
        depths.append(0 if parent == ROOT else depths[parent] + 1)
    return depths


def leaves_of(parents: Sequence[int]) -> list[int]:
    """The tokens that no other one follows, in their order."""
    inner = {*parents}
    return [node for node in range(len(parents)) if node not in inner]


def path_to(node: int, parents: Sequence[int]) -> list[int]:
    """The tokens from the first one to this one; none for ROOT."""
    path = []
    while node != ROOT:
        path.append(node)
        node = parents[node]
    return path[::-1]
