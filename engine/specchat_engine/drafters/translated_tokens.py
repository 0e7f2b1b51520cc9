"""Which tokens of a text that may go on are certain.

With byte-pair encoding a token boundary parts a text into two that are encoded apart from each other: whatever follows
a text, there is a last boundary in it, behind which one token goes on beyond its end, and what is left of it is encoded
as if it stood alone. So the tokens that all of these possible beginnings share are certain. Source of the encoding:
Sennrich et al., arXiv 1508.07909.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from specchat_engine.models import SessionVocabulary
from specchat_engine.prompt.prefix import common_prefix


class Entries:
    """The texts of all tokens of a vocabulary, in order, so that it can be asked what a text may become.

    They are put in order when it is made, which takes some tenths of a second for a large vocabulary.
    """

    def __init__(self, vocabulary: SessionVocabulary) -> None:
        pieces = ((vocabulary.piece(token), token) for token in range(vocabulary.size))
        known = sorted(pair for pair in pieces if pair[0])
        self.vocabulary = vocabulary
        self._texts, self._ids = [piece for piece, _ in known], [token for _, token in known]
        self._longest = max(map(len, self._texts), default=0)

    def grows(self, data: bytes) -> bool:
        """Whether a token is longer than these bytes and begins with them."""
        texts = self._texts
        place = bisect_right(texts, data)
        return place < len(texts) and texts[place].startswith(data)

    def along(self, data: bytes) -> NDArray[np.int64]:
        """The tokens that begin with these bytes, or that these bytes begin with."""
        texts, ids = self._texts, self._ids
        first = bisect_left(texts, data)
        last = bisect_right(texts, data + b"\xff" * self._longest, first)
        found = list(ids[first:last])
        for length in range(1, len(data)):
            start = bisect_left(texts, data[:length])
            found += ids[start : bisect_right(texts, data[:length], start)]
        return np.array(found, np.int64)

    def certain(self, text: str, tokens: Sequence[int], known: int = 0) -> int:
        """How many of the tokens of a text stay the same whatever follows it.

        Where these are no more than `known`, it may also be less than that.
        """
        data = text.encode()
        open_from = next(
            (place for place in range(max(0, len(data) - self._longest), len(data)) if self.grows(data[place:])),
            len(data),
        )
        lengths = [*accumulate(len(self.vocabulary.piece(token)) for token in tokens)]
        added = lengths[-1] - len(data) if lengths else 0
        count = bisect_right(lengths, open_from + added)
        if count <= known:
            return count
        behind = lengths[count - 1] - added
        place = len(data)
        for end in range(len(text) - 1, 0, -1):
            place -= len(text[end].encode())
            if place <= behind or count <= known:
                break
            if self.grows(data[place:]):
                count = min(count, common_prefix(self.vocabulary.tokenize(text[:end], special=False), tokens))
        return count
