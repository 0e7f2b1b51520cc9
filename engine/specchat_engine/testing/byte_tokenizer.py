"""A vocabulary of 256 bytes and three control tokens."""

from __future__ import annotations

from specchat_engine.errors import SettingError
from specchat_engine.testing.choices import Choices

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
        """The token as it stands in the table."""
        return _TEXTS.get(token) or chr(token)

    def piece(self, token: int) -> bytes:
        """The bytes of a token; none for a control token."""
        return bytes((token,)) if token < END_OF_TEXT else b""

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text; `special` reads the texts of control tokens as these tokens."""
        if special:
            for token, name in _TEXTS.items():
                before, found, behind = text.partition(name)
                if found:
                    return [*self.tokenize(before, special=True), token, *self.tokenize(behind, special=True)]
        return list(text.encode())

    def compile_grammar(self, text: str) -> Choices:
        """A grammar in which every line is one whole answer. Raises SettingError where there is none."""
        if not text.strip():
            raise SettingError("the grammar is empty: write each possible answer on a line of its own")
        return Choices(frozenset(line.encode() for line in text.splitlines()), self.ends)
