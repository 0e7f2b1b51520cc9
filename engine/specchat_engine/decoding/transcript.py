"""Turns the token ids of one answer into text, once, and decides where the answer ends."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from specchat_engine.settings import Settings


class AnswerDecoder:
    """Decodes the tokens of an answer with one incremental decoder, and looks for what ends it.

    `texts` has one entry for each token received; together they are the text. Bytes of a character that several tokens
    share come with the token that completes it. Any thread may read.
    """

    def __init__(
        self,
        piece: Callable[[int], bytes],
        ends: frozenset[int],
        stop: tuple[str, ...],
        max_tokens: int,
        limit_reason: str = "length",
    ) -> None:
        """`piece` gives a token's bytes, `ends` are the ids that end an answer."""
        self.texts: list[str] = []
        self._piece = piece
        self._ends = ends
        self._stop = stop
        self._max_tokens = max_tokens
        self._limit_reason = limit_reason
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._longest_stop = max((len(string) for string in stop), default=1)
        self._searched = ""
        self._cut: int | None = None

    @classmethod
    def of(cls, settings: Settings, piece: Callable[[int], bytes], ends: frozenset[int], room: int) -> AnswerDecoder:
        """An answer under these settings, for which the context has room for `room` tokens."""
        limit = min(settings.max_tokens or room, room)
        return cls(piece, ends, settings.stop, limit, "length" if limit == settings.max_tokens else "context")

    def __len__(self) -> int:
        """How many tokens were received."""
        return len(self.texts)

    @property
    def text(self) -> str:
        """The answer, up to the stop string if one was found."""
        return "".join(self.texts)[: self._cut]

    @property
    def remaining(self) -> int:
        """How many more tokens are wanted."""
        return self._max_tokens - len(self.texts)

    def receive(self, tokens: Sequence[int]) -> tuple[int, str | None]:
        """Takes the tokens that a round would emit: how many of them are kept, and why the answer ends with the last.

        The reason is "end" (end of generation), "stop" (a stop string), the limit's own, or None. Bytes that nothing
        completes become a replacement character in the last token's text.
        """
        for count, token in enumerate(tokens, 1):
            ends = token in self._ends
            self.texts.append("" if ends else self._decoder.decode(self._piece(token)))
            if self._stop and self._finds_stop():
                return count, "stop"
            if ends or not self.remaining:
                self.texts[-1] += self._decoder.decode(b"", final=True)
                return count, "end" if ends else self._limit_reason
        return len(tokens), None

    def _finds_stop(self) -> bool:
        """Whether a stop string ends in the last token's text. The text is cut where the first such string begins."""
        start = max(0, len(self._searched) - self._longest_stop + 1)
        self._searched += self.texts[-1]
        indexes = [index for string in self._stop if (index := self._searched.find(string, start)) >= 0]
        self._cut = min(indexes, default=None)
        return bool(indexes)
