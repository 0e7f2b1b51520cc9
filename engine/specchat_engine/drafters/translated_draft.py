"""A draft as text, while the draft model writes it."""

from __future__ import annotations

import codecs


class DraftedText:
    """The text of a draft, and how sure the draft model was of each part of it.

    It begins with the bytes of a character that the target has begun, which are owed until they were drafted again.
    """

    __slots__ = ("_begun", "_data", "_sure", "_told", "complete", "ended", "text")

    def __init__(self, begun: bytes) -> None:
        self.text = ""
        self.ended = False
        self.complete = True
        self._begun = begun
        self._data = b""
        self._sure: list[tuple[int, float]] = []
        self._told = 0

    @property
    def owed(self) -> bytes:
        """The bytes that the next token has to begin with."""
        return self._begun[len(self._data) :]

    def add(self, piece: bytes, sure: float, *, ended: bool) -> bool:
        """Puts a token's bytes behind the text; False where it says nothing, or no text."""
        if not (piece or ended):
            return False
        self._sure.append((len(self._data), sure))
        self._data += piece
        self.ended = ended
        try:
            self.text, used = codecs.utf_8_decode(self._data, "strict", False)
        except UnicodeDecodeError:
            return False
        self.complete = used == len(self._data)
        return True

    def confidence(self, length: int) -> float:
        """How sure the draft was of the tokens that begin in the first `length` bytes and were not told yet."""
        product = 1.0
        while self._told < len(self._sure) and self._sure[self._told][0] < length:
            product *= self._sure[self._told][1]
            self._told += 1
        return product
