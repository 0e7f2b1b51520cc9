"""A vocabulary of 256 bytes and three control tokens."""

from __future__ import annotations

from collections.abc import Set

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError, SettingError

END_OF_TEXT, START, END = 256, 257, 258
_TEXTS = {END_OF_TEXT: "<|endoftext|>", START: "<|im_start|>", END: "<|im_end|>"}


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

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text; `special` reads the texts of control tokens as these tokens."""
        if special:
            for token, name in _TEXTS.items():
                before, found, after = text.partition(name)
                if found:
                    return [*self.tokenize(before, special=True), token, *self.tokenize(after, special=True)]
        return list(text.encode())

    def compile_grammar(self, text: str) -> Choices:
        """A grammar in which every line is one whole answer. Raises SettingError for an empty one."""
        if not text.strip():
            raise SettingError("the grammar is empty: write each possible answer on a line of its own")
        return Choices(frozenset(line.encode() for line in text.splitlines()), self.ends)


class Choices:
    """A place in one of several texts: `rests` holds what may still follow, `ends` the ids that end an answer."""

    def __init__(self, rests: frozenset[bytes], ends: Set[int]) -> None:
        self.rests = rests
        self.closed = False
        self._ends = ends

    def allows(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Which of these ids may come here. Raises DecodeError if this place was closed."""
        if self.closed:
            raise DecodeError("this place of the grammar was closed: begin again")
        possible = {rest[0] for rest in self.rests if rest} | (set(self._ends) if b"" in self.rests else set())
        return np.array([token in possible for token in ids.tolist()], np.bool_)

    def after(self, token: int) -> Choices | None:
        """The place after one more token, None if the token may not come here."""
        if not self.allows(np.array([token]))[0]:
            return None
        if token in self._ends:
            return Choices(self.rests, self._ends)
        return Choices(frozenset(rest[1:] for rest in self.rests if rest[:1] == bytes((token,))), self._ends)

    def close(self) -> None:
        """Makes every later question an error."""
        self.closed = True
