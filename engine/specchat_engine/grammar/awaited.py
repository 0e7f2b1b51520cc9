"""A grammar that begins at a mark; what an answer says before it is free.

So calls are held to the schemas of their tools in answers that need not call any. It costs nothing until the mark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specchat_engine.grammar.constraint import GrammarState, GrammarVocabulary


@dataclass(frozen=True, slots=True)
class GrammarStart:
    """Where a grammar begins that has the `mark` as its first text: at the first one after the reasoning.

    Reasoning stands between the tags `thinking`, at the start of the answer. With `opened` the prompt has opened it.
    """

    mark: str
    thinking: tuple[str, str]
    opened: bool = False

    def place(self, text: bytes) -> int | None:
        """Where the mark stands in an answer's text, None if it has not come."""
        opening, closing = (tag.encode() for tag in self.thinking)
        begin = 0
        if self.opened or text.lstrip().startswith(opening):
            end = text.find(closing)
            if end < 0:
                return None
            begin = end + len(closing)
        found = text.find(self.mark.encode(), begin)
        return found if found >= 0 else None


class AwaitedGrammar:
    """A place before the mark. The grammar is compiled when the mark has come, which most answers never do."""

    forced = None
    __slots__ = ("_grammar", "_shown", "_start", "_text", "_vocabulary")

    def __init__(
        self,
        start: GrammarStart,
        grammar: Callable[[], GrammarState],
        vocabulary: GrammarVocabulary,
        shown: Mapping[int, bytes],
        text: bytes = b"",
    ) -> None:
        """`grammar` compiles the grammar, `shown` has the texts of control tokens, and `text` is the answer so far."""
        self._start = start
        self._grammar = grammar
        self._vocabulary = vocabulary
        self._shown = shown
        self._text = text

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Every token [n] that the vocabulary has."""
        allowed: NDArray[np.bool_] = ids < self._vocabulary.size
        return allowed

    def after(self, token: int) -> GrammarState:
        """The place after one more token: in the grammar if the token completes the mark."""
        text = self._text + (self._shown.get(token) or self._vocabulary.piece(token))
        begin = self._start.place(text)
        if begin is None:
            return AwaitedGrammar(self._start, self._grammar, self._vocabulary, self._shown, text)
        return self._read(text[begin:]) or _Free(self._vocabulary.size)

    def _read(self, said: bytes) -> GrammarState | None:
        """The grammar's place after the mark and what the same token adds to it; None if that does not follow it."""
        state: GrammarState | None = self._grammar()
        for byte in said:
            token = self._vocabulary.letters.get(byte)
            state = state.after(token) if state and token is not None else None
        return state


class _Free:
    """A place after a mark that does not begin what the grammar describes: nothing is held any more."""

    forced = None
    __slots__ = ("_size",)

    def __init__(self, size: int) -> None:
        self._size = size

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        allowed: NDArray[np.bool_] = ids < self._size
        return allowed

    def after(self, token: int) -> GrammarState:
        del token
        return self
