"""Trees in a model's memory: each leaf is a sequence of llama.cpp, and shared tokens belong to all leaves above them.

Sequence 0 is the text itself, and the first leaf too. The memory must be one for all sequences (`kv_unified`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specchat_engine.llama.library import api
from specchat_engine.trees import depths_of, leaves_of, path_to


class TreeSequences:
    """The sequences of one tree after `start` tokens of text."""

    def __init__(self, memory: Any, start: int, tree: Sequence[int], parents: Sequence[int]) -> None:
        """`parents` are those of the tree's tokens, see `trees`; ROOT is the last token of the text."""
        self._memory = memory
        self._start = start
        self._tree = tuple(tree)
        self.depths = depths_of(parents)
        """How many tokens of the tree come before each one on its path."""
        leaves = leaves_of(parents)
        self.count = max(1, len(leaves))
        self.members: list[list[int]] = [[] for _ in tree]
        """The sequences of each token."""
        for sequence, leaf in enumerate(leaves):
            for node in path_to(leaf, parents):
                self.members[node].append(sequence)

    def open(self, length: int) -> None:
        """Gives the text, which has `length` tokens in memory, to all sequences."""
        for sequence in range(1, self.count):
            api.llama_memory_seq_cp(self._memory, 0, sequence, 0, length)

    def close(self, path: Sequence[int]) -> list[int] | None:
        """Leaves this path after the text, in sequence 0 alone; its tokens, or None if llama.cpp refuses."""
        end = self._start + len(path)
        leaf = self.members[path[-1]][0] if path else 0
        if leaf:
            done = api.llama_memory_seq_rm(self._memory, 0, self._start, -1)
            api.llama_memory_seq_cp(self._memory, leaf, 0, self._start, end)
        else:
            done = api.llama_memory_seq_rm(self._memory, 0, end, -1)
        for sequence in range(1, self.count):
            done = api.llama_memory_seq_rm(self._memory, sequence, -1, -1) and done
        return [self._tree[node] for node in path] if done else None


class Fork:
    """A branch that grows beside a text, in sequence 1."""

    def __init__(self, memory: Any, start: int) -> None:
        """It follows the first `start` tokens of the text."""
        self._memory = memory
        self.start = start
        self.tokens: list[int] = []
        """What it has read."""
        api.llama_memory_seq_cp(memory, 0, 1, 0, start)

    @property
    def end(self) -> int:
        """The position of its next token."""
        return self.start + len(self.tokens)

    def close(self, *, taken: bool = False) -> bool:
        """Forgets it; if it is `taken` the text goes on with it. False if llama.cpp refuses."""
        done = True
        if taken:
            done = api.llama_memory_seq_rm(self._memory, 0, self.start, -1)
            api.llama_memory_seq_cp(self._memory, 1, 0, self.start, self.end)
        return bool(api.llama_memory_seq_rm(self._memory, 1, -1, -1) and done)
