"""The tokens of a text that grows, found again without tokenizing all of it.

Tokenizers cut a text into words before they look for tokens, and no word changes the tokens of those before it. So it
is enough to begin at the last place where a word surely begins, or one word earlier, so that the tokenizer finds
itself in the middle of a text; where the tokens do not part there, all of the text is tokenized.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Protocol

_PARTED = re.compile(r"(?<=[\w.,;:!?)]) (?=[^\W\d_])|(?<=\n)(?=[^\W\d_])")
"""Before the one space, or behind the line break, in front of a letter: there every pre-tokenizer that llama.cpp knows
begins a word, whatever follows."""


class TextTokenizer(Protocol):
    """What is asked of a vocabulary here."""

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text."""

    def piece(self, token: int) -> bytes:
        """The bytes of a token."""


class GrowingText:
    """A text and its `tokens`, the same as if all of it had been tokenized at once.

    The first `settled` tokens stay whatever follows.
    """

    __slots__ = ("_before", "_from", "_vocabulary", "settled", "text", "tokens")

    def __init__(self, vocabulary: TextTokenizer) -> None:
        self.text = ""
        self.tokens: list[int] = []
        self.settled = 0
        self._vocabulary = vocabulary
        self._before = self._from = 0

    @property
    def tail(self) -> str:
        """The text behind the settled tokens."""
        return self.text[self._from :]

    def extend(self, more: str) -> None:
        """Puts more text behind the text."""
        if more:
            self.tokens[self.settled :] = self.continued(more)
            self.text += more
            self._settle()

    def continued(self, more: str) -> list[int]:
        """The tokens of the tail with more text behind it; nothing is settled where it cannot be told by itself."""
        text = self.text + more
        if self._from:
            tokens = self._vocabulary.tokenize(text[self._before :], special=False)
            place = parted(tokens, len(text[self._from :].encode()), self._vocabulary.piece)
            if place is not None:
                return tokens[place:]
            self.settled = self._before = self._from = 0
        return self._vocabulary.tokenize(text, special=False)

    def _settle(self) -> None:
        """Moves on to the last place where a word begins."""
        places = [found.start() for found in _PARTED.finditer(self.text, self._from + 1)]
        if places:
            unsettled = self.tokens[self.settled :]
            count = parted(unsettled, len(self.text[places[-1] :].encode()), self._vocabulary.piece)
            if count is not None:
                self._before, self._from = ([self._from, *places])[-2:]
                self.settled += count


def parted(tokens: Sequence[int], distance: int, piece: Callable[[int], bytes]) -> int | None:
    """How many of the tokens lie before the last `distance` bytes of their text; None where one lies across.

    Counted from the end, since some tokenizers put a space before a text.
    """
    count = len(tokens)
    while distance > 0 and count:
        count -= 1
        distance -= len(piece(tokens[count]))
    return None if distance else count
