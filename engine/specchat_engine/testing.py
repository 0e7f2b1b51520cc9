"""Models and a tokenizer without weights, to test drafters, verifiers and whole sessions without llama.cpp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from functools import lru_cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import Cancelled, DecodeError, SettingError
from specchat_engine.prompt.encoding import common_prefix
from specchat_engine.trees import leaves_of

__all__ = ["ByteTokenizer", "ScriptedModel", "peaked", "random_law"]

END_OF_TEXT, START, END = 256, 257, 258
_TEXTS = {END_OF_TEXT: "<|endoftext|>", START: "<|im_start|>", END: "<|im_end|>"}

_KEPT_ROWS = 4096

Law = Callable[[tuple[int, ...]], NDArray[np.float32]]
"""The logits [V] that follow a sequence of tokens."""


class ScriptedModel:
    """Keeps its memory like llama.cpp and is as strict: it checks rows, capacity and cuts at every call.

    As in llama.cpp, the next call overwrites the array that `advance` returns.
    """

    def __init__(self, law: Law, *, capacity: int = 4096, max_rows: int = 33, chunk: int = 64) -> None:
        self.tokens: list[int] = []
        self.busy_ns = self.rollback_ns = 0
        self.user: object = None
        self.threads = 1
        self.passes: list[int] = []
        self.capacity = capacity
        self.max_rows = max_rows
        self.goes_back_freely = True
        self.law = law
        self.max_leaves = 16
        self._chunk = chunk
        self._tree: tuple[int, ...] | None = None
        self._branch: list[int] | None = None
        self._fork = 0
        self._rows: NDArray[np.float32] | None = None

    @property
    def length(self) -> int:
        """How many tokens the memory holds."""
        return len(self.tokens)

    def advance(self, tokens: Sequence[int], rows: int) -> NDArray[np.float32]:
        """Reads tokens after those in memory; logits [rows, V] of the last `rows` of them.

        Raises DecodeError if there is no room, nothing to read, or fewer rows reserved than asked for.
        """
        if not tokens or not 0 <= rows <= min(len(tokens), self.max_rows):
            raise DecodeError(f"a pass over {len(tokens)} tokens for {rows} rows; at most {self.max_rows} are reserved")
        self._check_room(len(tokens))
        self.tokens += tokens
        ends = range(len(self.tokens) - rows + 1, len(self.tokens) + 1)
        return self._answer(len(tokens), [tuple(self.tokens[:end]) for end in ends])

    def advance_tree(self, token: int, tree: Sequence[int], parents: Sequence[int]) -> NDArray[np.float32]:
        """Reads a token and a tree that follows it; logits [n + 1, V]. Raises DecodeError as `advance` does."""
        leaves = len(leaves_of(parents))
        if len(tree) + 1 > self.max_rows or leaves > self.max_leaves or len(parents) != len(tree):
            raise DecodeError(f"a tree of {len(tree)} tokens with {leaves} leaves; at most {self.max_leaves}")
        self._check_room(len(tree) + 1)
        self.tokens.append(token)
        paths: list[tuple[int, ...]] = []
        for node, parent in zip(tree, parents, strict=True):
            paths.append((*(paths[parent] if parent >= 0 else self.tokens), node))
        self._tree = tuple(tree)
        return self._answer(len(tree) + 1, [tuple(self.tokens), *paths])

    def take(self, path: Sequence[int]) -> None:
        """Keeps this path of the tree. Raises DecodeError without a tree."""
        if self._tree is None:
            raise DecodeError("there is no tree to take a path of")
        self.tokens += [self._tree[node] for node in path]
        self._tree = None

    @property
    def can_fork(self) -> bool:
        """Whether the memory has room for a branch."""
        return min(self.max_leaves, self.max_rows) > 1

    def fork(self, length: int) -> None:
        """Begins a branch after the first `length` tokens. Raises DecodeError if that is impossible."""
        if not self.can_fork or not 0 <= length <= len(self.tokens):
            raise DecodeError(f"a branch after {length} of {len(self.tokens)} tokens")
        self._fork, self._branch = length, []

    def advance_both(self, token: int, other: int) -> NDArray[np.float32]:
        """Reads a token after those in memory, and another one at the end of the branch; logits [2, V].

        Raises DecodeError as `advance` does, and without a branch.
        """
        if self._branch is None:
            raise DecodeError("there is no branch to read a token of")
        self._check_room(2 + len(self._branch))
        self.tokens.append(token)
        self._branch.append(other)
        return self._answer(2, [tuple(self.tokens), (*self.tokens[: self._fork], *self._branch)])

    def join(self, text: Sequence[int], known: int = 0) -> None:
        """Ends the branch, and keeps the longest beginning of a text that the memory or the branch agrees with."""
        if self._branch is not None:
            candidates = [self.tokens, [*self.tokens[: self._fork], *self._branch]]
            self.tokens = max(candidates, key=lambda read: common_prefix(read[known:], text[known:]))
            self.rewind(known + common_prefix(self.tokens[known:], text[known:]))

    def _check_room(self, count: int) -> None:
        if self._tree is not None:
            raise DecodeError("a pass while the memory has a tree")
        if len(self.tokens) + count > self.capacity:
            raise DecodeError(f"{len(self.tokens) + count} tokens do not fit a context of {self.capacity}")

    def _answer(self, count: int, texts: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """The logits after these texts, of a pass over `count` tokens."""
        if self._rows is not None:
            self._rows.fill(np.nan)
        self.passes.append(count)
        self.busy_ns += 1000
        self._rows = np.array([self.law(text) for text in texts], dtype=np.float32)
        return self._rows

    def checkpoint(self) -> None:
        """Does nothing: this memory can go back to any length."""

    def rewind(self, length: int) -> None:
        """Forgets all but the first `length` tokens."""
        if length < 0:
            raise DecodeError(f"a cut back to {length} tokens")
        self._tree = self._branch = None
        del self.tokens[length:]

    @property
    def texts(self) -> list[list[int]]:
        """A copy of the only text."""
        return [[*self.tokens]]

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens."""
        self.rewind(common_prefix(self.tokens, tokens))

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> int:
        """Makes the memory hold exactly these tokens; returns how many it had. Raises Cancelled between two chunks."""
        self.keep(tokens)
        known = len(self.tokens)
        for start in range(known, len(tokens), self._chunk):
            if cancelled():
                raise Cancelled("stopped while the prompt was read")
            self.advance(tokens[start : start + self._chunk], 0)
        return known

    def clear(self) -> None:
        """Forgets everything."""
        self._tree = self._branch = None
        self.tokens.clear()


def random_law(n_vocab: int, *, seed: int = 0, order: int = 2, spread: float = 2.0) -> Law:
    """Random but fixed logits that depend on the last `order` tokens; `spread` is their standard deviation.

    The arrays are not to be written to.
    """

    @lru_cache(maxsize=_KEPT_ROWS)
    def row(last: tuple[int, ...]) -> NDArray[np.float32]:
        drawn = (np.random.default_rng([seed, *last]).standard_normal(n_vocab) * spread).astype(np.float32)
        drawn.flags.writeable = False
        return drawn

    return lambda tokens: row(tokens[-order:])


def peaked(script: Sequence[int], n_vocab: int, *, prompt_length: int, peak: float = 20.0) -> Law:
    """A law that repeats the script after a prompt of that length, and then its last token for ever."""

    def law(tokens: tuple[int, ...]) -> NDArray[np.float32]:
        row = np.zeros(n_vocab, dtype=np.float32)
        row[script[min(len(tokens) - prompt_length, len(script) - 1)]] = peak
        return row

    return law


class ByteTokenizer:
    """Token ids 0–255 are bytes; 256–258 are control tokens, of which `<|im_end|>` ends an answer."""

    type = "bytes"
    size = 259
    adds_bos = False
    special_texts = tuple(_TEXTS.values())
    ends = frozenset({END_OF_TEXT, END})

    def __init__(self) -> None:
        self.special = {"bos": -1, "eos": END_OF_TEXT, "eot": END}

    def text(self, token: int) -> str:
        """The token's text in the vocabulary."""
        return _TEXTS.get(token) or chr(token)

    def piece(self, token: int) -> bytes:
        """The bytes of a token; none for a control token."""
        return bytes((token,)) if token < END_OF_TEXT else b""

    @property
    def letters(self) -> dict[int, int]:
        """Every byte is a token."""
        return {byte: byte for byte in range(256)}

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text; `special` reads the texts of control tokens as these tokens."""
        if special:
            for token, name in _TEXTS.items():
                before, mark, after = text.partition(name)
                if mark:
                    return [*self.tokenize(before, special=True), token, *self.tokenize(after, special=True)]
        return list(text.encode())

    def compile_grammar(self, text: str, shown: Mapping[int, bytes] = MappingProxyType({})) -> Choices:
        """A grammar in which every line is one whole answer, of bytes alone. Raises SettingError for an empty one."""
        if not text.strip():
            raise SettingError("the grammar is empty: write each possible answer on a line of its own")
        return Choices(frozenset(line.encode() for line in text.splitlines()), self.ends)


class Choices:
    """A place in one of several texts: `rests` holds what may still follow, `ends` the ids that end an answer."""

    def __init__(self, rests: frozenset[bytes], ends: Set[int]) -> None:
        self.rests = rests
        self._ends = ends

    @property
    def forced(self) -> int | None:
        """The byte with which all texts go on, if they do."""
        first = {rest[:1] for rest in self.rests}
        (byte,) = first if len(first) == 1 else (b"",)
        return byte[0] if byte else None

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these ids may come here."""
        possible = {rest[0] for rest in self.rests if rest} | (set(self._ends) if b"" in self.rests else set())
        return np.array([token in possible for token in ids.tolist()], np.bool_)

    def after(self, token: int) -> Choices | None:
        """The place after one more token, None if the token may not come here."""
        if not self.allows(np.array([token]))[0]:
            return None
        if token in self._ends:
            return Choices(self.rests, self._ends)
        return Choices(frozenset(rest[1:] for rest in self.rests if rest[:1] == bytes((token,))), self._ends)
