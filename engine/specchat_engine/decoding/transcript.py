"""Token ids of one answer turned into text, once, and the decision where the answer ends."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from threading import Lock

from specchat_engine.settings import Settings


class Transcript:
    """Looks for what ends the answer, and decodes tokens when somebody wants to read them, if no stop string waits.

    `texts` has one entry for each token received, so that their concatenation is the text: bytes of a character that
    several tokens share come with the token that completes it, and stay out where the caller stops before that. `text`
    ends before the stop string, if one was found. Both may be read from another thread.
    """

    def __init__(
        self,
        piece: Callable[[int], bytes],
        ends: frozenset[int],
        stop: tuple[str, ...],
        max_tokens: int,
        limit_reason: str = "length",
    ) -> None:
        self._tokens: list[int] = []
        self._texts: list[str] = []
        self._decoding = Lock()
        self._piece = piece
        self._ends = ends
        self._stop = stop
        self._max_tokens = max_tokens
        self._limit_reason = limit_reason
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = self._complete = False
        self._reach = max((len(string) for string in stop), default=1) - 1
        self._searched = ""
        self._cut: int | None = None

    @classmethod
    def of(cls, settings: Settings, piece: Callable[[int], bytes], ends: frozenset[int], room: int) -> Transcript:
        """An answer under these settings, for which the context has so much room."""
        limit = min(settings.max_tokens or room, room)
        return cls(piece, ends, settings.stop, limit, "length" if limit == settings.max_tokens else "context")

    def __len__(self) -> int:
        """How many tokens were received."""
        return len(self._tokens)

    @property
    def texts(self) -> list[str]:
        """The characters that came with each token."""
        with self._decoding:
            for token in self._tokens[len(self._texts) :]:
                self._texts.append("" if token in self._ends else self._decoded(self._piece(token)))
            if self._complete and self._unfinished:
                self._unfinished = False
                self._texts[-1] += self._decoder.decode(b"", final=True)
        return self._texts

    @property
    def text(self) -> str:
        """The answer."""
        return "".join(self.texts)[: self._cut]

    @property
    def remaining(self) -> int:
        """How many more tokens are wanted."""
        return self._max_tokens - len(self._tokens)

    def receive(self, tokens: Sequence[int]) -> tuple[int, str | None]:
        """Takes the tokens that a round would emit; how many of them are kept, and why the answer ends with the last.

        The reason is "end" (end of generation), "stop" (a stop string), the limit's own, or None. Bytes that nothing
        completes show as a replacement character with the last token.
        """
        received, ends, most = self._tokens, self._ends, self._max_tokens
        for count, token in enumerate(tokens, 1):
            received.append(token)
            if self._stop and self._finds_stop():
                return count, "stop"
            if token in ends or len(received) == most:
                self._complete = True
                return count, "end" if token in ends else self._limit_reason
        return len(tokens), None

    def _decoded(self, piece: bytes) -> str:
        """The characters that a piece completes; most pieces are whole characters, and need no decoder that waits."""
        if not self._unfinished:
            try:
                return piece.decode()
            except UnicodeDecodeError:
                pass
        text = self._decoder.decode(piece)
        self._unfinished = bool(self._decoder.getstate()[0])
        return text

    def _finds_stop(self) -> bool:
        """Whether a stop string ends in the text of the last token; the text is cut where the first such one begins."""
        before = len(self._searched)
        self._searched += self.texts[-1]
        tail = max(0, before - self._reach)
        found = [place for string in self._stop if (place := self._searched.find(string, tail)) >= 0]
        self._cut = min(found, default=None)
        return bool(found)
