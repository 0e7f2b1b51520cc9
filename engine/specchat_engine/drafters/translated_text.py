"""Text for a draft model with another vocabulary: the context as it grows, the draft, and which tokens are certain.

A tokenizer splits a text into words before it looks for tokens, and no word changes the tokens of the words before it.
So it is enough to tokenize again from the last place where a word surely begins, or one word earlier, so that the
tokenizer sees the middle of a text. If no token begins there, the whole text is tokenized.
"""

from __future__ import annotations

import codecs
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from specchat_engine.models import SessionVocabulary
from specchat_engine.prompt.encoding import common_prefix

_PARTED = re.compile(r"(?<=[\w.,;:!?)]) (?=[^\W\d_])|(?<=\n)(?=[^\W\d_])")
"""Before a single space, or after a line break, that precedes a letter: every pre-tokenizer in llama.cpp begins a word
there, whatever follows."""


class GrowingText:
    """A text and its `tokens`, the same as if all of it had been tokenized at once.

    The first `settled` tokens stay the same, whatever follows.
    """

    __slots__ = ("_before", "_from", "_vocabulary", "settled", "text", "tokens")

    def __init__(self, vocabulary: SessionVocabulary) -> None:
        self.text = ""
        self.tokens: list[int] = []
        self.settled = 0
        self._vocabulary = vocabulary
        self._before = self._from = 0

    @property
    def tail(self) -> str:
        """The text after the settled tokens."""
        return self.text[self._from :]

    def extend(self, more: str) -> None:
        """Appends text."""
        if more:
            self.tokens[self.settled :] = self.continued(more)
            self.text += more
            self._settle()

    def continued(self, more: str) -> list[int]:
        """The tokens of the tail with more text after it; nothing stays settled if the tail cannot be separated."""
        text = self.text + more
        if self._from:
            tokens = self._vocabulary.tokenize(text[self._before :], special=False)
            index = parted(tokens, len(text[self._from :].encode()), self._vocabulary.piece)
            if index is not None:
                return tokens[index:]
            self.settled = self._before = self._from = 0
        return self._vocabulary.tokenize(text, special=False)

    def _settle(self) -> None:
        """Settles the tokens before the last place where a word begins."""
        starts = [match.start() for match in _PARTED.finditer(self.text, self._from + 1)]
        if starts:
            unsettled = self.tokens[self.settled :]
            count = parted(unsettled, len(self.text[starts[-1] :].encode()), self._vocabulary.piece)
            if count is not None:
                self._before, self._from = ([self._from, *starts])[-2:]
                self.settled += count


def parted(tokens: Sequence[int], distance: int, piece: Callable[[int], bytes]) -> int | None:
    """How many of the tokens end before the last `distance` bytes of their text; None if a token crosses that place.

    Counts from the end, since some tokenizers put a space before a text.
    """
    count = len(tokens)
    while distance > 0 and count:
        count -= 1
        distance -= len(piece(tokens[count]))
    return None if distance else count


class DraftedText:
    """The text of a draft, and how sure the draft model was of each part of it.

    If the target has begun a character, the draft owes its bytes: it has to begin with them.
    """

    __slots__ = ("_begun", "_counted", "_data", "_sure", "complete", "ended", "text")

    def __init__(self, begun: bytes) -> None:
        self.text = ""
        self.ended = False
        self.complete = True
        self._begun = begun
        self._data = b""
        self._sure: list[tuple[int, float]] = []
        self._counted = 0

    @property
    def owed(self) -> bytes:
        """The bytes that the next token has to begin with."""
        return self._begun[len(self._data) :]

    def add(self, piece: bytes, sure: float, *, ended: bool) -> bool:
        """Appends a token's bytes; False if there are none or they are not UTF-8."""
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
        """How sure the draft was of the tokens that begin in the first `length` bytes, without those asked before."""
        product = 1.0
        while self._counted < len(self._sure) and self._sure[self._counted][0] < length:
            product *= self._sure[self._counted][1]
            self._counted += 1
        return product


class Entries:
    """The texts of all tokens of a vocabulary in sorted order, to look up how a text may continue.

    Sorting takes a few tenths of a second for a large vocabulary.
    """

    def __init__(self, vocabulary: SessionVocabulary) -> None:
        pieces = ((vocabulary.piece(token), token) for token in range(vocabulary.size))
        known = sorted(pair for pair in pieces if pair[0])
        self.vocabulary = vocabulary
        self._texts, self._ids = [piece for piece, _ in known], [token for _, token in known]
        self._longest = max(map(len, self._texts), default=0)

    def grows(self, data: bytes) -> bool:
        """Whether a longer token begins with these bytes."""
        texts = self._texts
        index = bisect_right(texts, data)
        return index < len(texts) and texts[index].startswith(data)

    def along(self, data: bytes) -> NDArray[np.int64]:
        """The tokens that begin with these bytes, and those that these bytes begin with."""
        texts, ids = self._texts, self._ids
        first = bisect_left(texts, data)
        last = bisect_right(texts, data + b"\xff" * self._longest, first)
        tokens = list(ids[first:last])
        for length in range(1, len(data)):
            start = bisect_left(texts, data[:length])
            tokens += ids[start : bisect_right(texts, data[:length], start)]
        return np.array(tokens, np.int64)

    def certain(self, text: str, tokens: Sequence[int], known: int = 0) -> int:
        """How many of the tokens of a text stay the same, whatever follows it.

        The result may be too small if it is at most `known`.
        """
        data = text.encode()
        open_from = next(
            (offset for offset in range(max(0, len(data) - self._longest), len(data)) if self.grows(data[offset:])),
            len(data),
        )
        lengths = [*accumulate(len(self.vocabulary.piece(token)) for token in tokens)]
        added = lengths[-1] - len(data) if lengths else 0
        count = bisect_right(lengths, open_from + added)
        if count <= known:
            return count
        end_of_certain = lengths[count - 1] - added
        offset = len(data)
        for end in range(len(text) - 1, 0, -1):
            offset -= len(text[end].encode())
            if offset <= end_of_certain or count <= known:
                break
            if self.grows(data[offset:]):
                count = min(count, common_prefix(self.vocabulary.tokenize(text[:end], special=False), tokens))
        return count
