"""Separates the thinking of a reasoning model from its answer while it streams.

Models put their thinking between a pair of marks. A mark may arrive in one token or in pieces, so text that may become
one is held back until that is decided. Nothing is lost: the texts of the spans, joined, are the text that was fed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from specchat.stats.kinds import HEADERS, TELLING, THINKING_TAGS

_CLOSING = dict(THINKING_TAGS)
_AT_LINE_STARTS = frozenset((*_CLOSING, *HEADERS))
_MARKS = (*HEADERS, *(mark for pair in THINKING_TAGS for mark in pair))
_LONGEST = max(map(len, _MARKS)) - 1
_BEGIN = re.compile("[" + re.escape("".join({mark[0] for mark in _MARKS})) + "]")
_LINE_START = re.compile(r"\n[ \t]*\Z")


class Span(NamedTuple):
    """A part of an answer's text. `thought` is True for thinking, including its marks."""

    text: str
    thought: bool


class ThoughtSplitter:
    """Splits one answer, fed in pieces, into thought and answer.

    An opening mark counts only at the start of a line, so that an answer may mention marks. If the prompt ended with
    the opening mark, the answer begins inside the thought: `began_inside` becomes True at a closing mark that nothing
    opened, and everything before it was thought. Whoever knows that already gives the `closing` mark. The header of a
    message that is no thinking belongs to the thought before it.
    """

    __slots__ = ("_at_start", "_closing", "_held", "_said", "began_inside")

    def __init__(self, closing: str = "") -> None:
        self._held = ""
        self._closing = closing or None
        self._at_start = True
        self._said = True
        self.began_inside = False

    @property
    def holding(self) -> bool:
        """True if the end of the text may still become a mark."""
        return bool(self._held)

    def feed(self, text: str) -> list[Span]:
        """The spans that are decided with this piece, in order."""
        if text and not self._held and _BEGIN.search(text) is None:
            return [self._span(text)]
        self._held += text
        return list(self._decide(last=False))

    def finish(self) -> list[Span]:
        """The spans that were held back, at the end of the answer."""
        return list(self._decide(last=True))

    def _decide(self, *, last: bool) -> Iterator[Span]:
        while self._held:
            place, mark = self._next_mark()
            if mark is None:
                keep = 0 if last else self._undecided()
                decided, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
                if decided:
                    yield self._span(decided)
                return
            before, self._held = self._held[:place], self._held[place + len(mark) :]
            if before:
                yield self._span(before)
            self.began_inside |= self._closing is None and mark not in _AT_LINE_STARTS
            self._said, self._at_start = False, True
            self._closing = _CLOSING.get(mark) if self._closing is None else None
            yield Span(mark, thought=True)

    def _span(self, text: str) -> Span:
        if self._closing is None and text.strip(" \t"):
            self._at_start = _LINE_START.search(text) is not None or (self._at_start and not text.strip())
        return Span(text, self._closing is not None)

    def _next_mark(self) -> tuple[int, str | None]:
        """The first valid mark in the held text, and its position."""
        found = [(place, mark) for mark in self._awaited() if (place := self._place(mark)) >= 0]
        return min(found, key=lambda at: (at[0], -len(at[1]))) if found else (-1, None)

    def _place(self, mark: str) -> int:
        place = self._held.find(mark)
        while place >= 0 and mark in _AT_LINE_STARTS and not self._starts_a_line(place):
            place = self._held.find(mark, place + 1)
        return place

    def _starts_a_line(self, place: int) -> bool:
        before = self._held[:place]
        return (self._at_start and not before.strip()) or _LINE_START.search(before) is not None

    def _awaited(self) -> list[str]:
        """The marks that may come next: the closing mark of a thought, else opening and, at first, closing ones."""
        if self._closing is not None:
            return [self._closing]
        return [*_AT_LINE_STARTS, *(TELLING if self._said else ())]

    def _undecided(self) -> int:
        """The number of characters at the end that may begin a mark."""
        tail = self._held[-_LONGEST:]
        for begin in _BEGIN.finditer(tail):
            if any(mark.startswith(tail[begin.start() :]) for mark in self._awaited()):
                return len(tail) - begin.start()
        return 0


def without_marks(thought: str) -> str:
    """The text of a thought without its marks and surrounding white space."""
    text = thought.strip()
    for header in HEADERS:
        text = text.removesuffix(header)
    for opening, closing in THINKING_TAGS:
        text = text.removeprefix(opening).removesuffix(closing)
    return text.strip()
