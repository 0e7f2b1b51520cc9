"""Vocabularies given as tables of pieces: byte-pair encoding in pure Python, for tests of drafting through text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from specchat_engine.errors import SettingError
from specchat_engine.testing import Choices

MARKS = ("<|im_start|>", "<|im_end|>")
_WORDS = re.compile(rb"\s*[\r\n]+| ?[^\W\d]+|\d| ?[^\s\w]+|\s+(?!\S)|\s+|.", re.DOTALL)


class PieceTable:
    """The 256 bytes, then these pieces, then `<|im_start|>` and `<|im_end|>`, which ends an answer.

    Neighbours that form an earlier piece of the table are merged first; with `words`, only within words.
    """

    adds_bos = False
    special_texts = MARKS

    def __init__(self, pieces: Sequence[bytes] = (), *, words: bool = True) -> None:
        self.pieces = [*(bytes((value,)) for value in range(256)), *pieces, b"", b""]
        self.size = len(self.pieces)
        self.start, self.end = self.size - 2, self.size - 1
        self.ends = frozenset({self.end})
        self.special = {"bos": -1, "eos": self.end, "eot": -1}
        self.tokenized = 0
        self._ids = {piece: token for token, piece in reversed([*enumerate(self.pieces)]) if piece}
        self._words = words

    def piece(self, token: int) -> bytes:
        """The bytes of a token; empty for a control token."""
        return self.pieces[token]

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text. With `special`, control tokens in the text are recognised."""
        self.tokenized += len(text)
        if special:
            for mark, token in zip(MARKS, (self.start, self.end), strict=True):
                before, found, after = text.partition(mark)
                if found:
                    return [*self.tokenize(before, special=True), token, *self.tokenize(after, special=True)]
        data = text.encode()
        words = _WORDS.findall(data) if self._words else [data]
        assert b"".join(words) == data
        return [token for word in words for token in self._joined(word)]

    def compile_grammar(self, text: str) -> Choices:
        """Raises: grammars are not supported here."""
        raise SettingError("a table of pieces does not support grammars")

    def _joined(self, word: bytes) -> list[int]:
        parts = [bytes((value,)) for value in word]
        while True:
            ranks = [self._ids.get(one + two, self.size) for one, two in pairwise(parts)]
            best = min(ranks, default=self.size)
            if best == self.size:
                return [self._ids[part] for part in parts]
            place = ranks.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
