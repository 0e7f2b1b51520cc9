"""Token ids of one answer turned into text, once, and the decision where the answer ends."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence

from specchat_engine.settings import Settings


class Transcript:
    """Decodes tokens as they are emitted and looks for what ends the answer.

    `texts` has one entry for each token received, so that their concatenation is the text: bytes of a character that
    several tokens share come with the token that completes it, and stay out where the caller stops before that. `text`
    ends before the stop string, if one was found.
    """

    def __init__(
        self,
        piece: Callable[[int], bytes],
        ends: frozenset[int],
        stop: tuple[str, ...],
        max_tokens: int,
        limit_reason: str = "length",
    ) -> None:
        self.texts: list[str] = []
        self.text = ""
        self._piece = piece
        self._ends = ends
        self._stop = stop
        self._max_tokens = max_tokens
        self._limit_reason = limit_reason
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._unfinished = False
        self._reach = max((len(string) for string in stop), default=1) - 1

    @classmethod
    def of(cls, settings: Settings, piece: Callable[[int], bytes], ends: frozenset[int], room: int) -> Transcript:
        """An answer under these settings, for which the context has so much room."""
        limit = min(settings.max_tokens or room, room)
        return cls(piece, ends, settings.stop, limit, "length" if limit == settings.max_tokens else "context")

    @property
    def remaining(self) -> int:
        """How many more tokens are wanted."""
        return self._max_tokens - len(self.texts)

    def receive(self, tokens: Sequence[int]) -> tuple[int, str | None]:
        """Takes the tokens that a round would emit; how many of them are kept, and why the answer ends with the last.

        The reason is "end" (end of generation), "stop" (a stop string), the limit's own, or None.
        """
        for count, token in enumerate(tokens, 1):
            ended = token in self._ends
            added = "" if ended else self._decoded(self._piece(token))
            self.texts.append(added)
            before = len(self.text)
            self.text += added
            cut = self._find_stop(before) if self._stop else -1
            if cut >= 0:
                self.text = self.text[:cut]
                return count, "stop"
            if ended or len(self.texts) == self._max_tokens:
                self._flush()
                return count, "end" if ended else self._limit_reason
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

    def _flush(self) -> None:
        """Shows bytes that no further token will complete as a replacement character, with the last token."""
        rest = self._decoder.decode(b"", final=True)
        if rest and self.texts:
            self.texts[-1] += rest
            self.text += rest

    def _find_stop(self, before: int) -> int:
        """Where the first stop string begins that ends in text behind `before`; -1 where there is none."""
        tail = max(0, before - self._reach)
        found = [place for string in self._stop if (place := self.text.find(string, tail)) >= 0]
        return min(found, default=-1)
