"""What a reasoning model thinks before it answers, told apart from the answer while it streams.

Models write their thoughts between a pair of marks. A mark may come in one token or in pieces, so what could still
become one is held back until it is decided; nothing is ever lost: the spans' texts, joined, are the text that was fed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from specchat.stats.kinds import THINKING_TAGS

_CLOSING = dict(THINKING_TAGS)
_TELLING = tuple(closing for closing in _CLOSING.values() if closing != "<|end|>")
"""The closing marks that mean a thought also where nothing was opened: `<|end|>` ends any message."""

_LONGEST = max(len(mark) for pair in THINKING_TAGS for mark in pair) - 1
_BEGIN = re.compile("[" + re.escape("".join({mark[0] for pair in THINKING_TAGS for mark in pair})) + "]")
_LINE_START = re.compile(r"\n[ \t]*\Z")


class Span(NamedTuple):
    """A run of an answer's text; `thought` tells whether it is thinking, its marks included."""

    text: str
    thought: bool


class ThoughtSplitter:
    """Splits one answer, fed in pieces, into thought and answer.

    An opening mark counts at the start of a line only, so that an answer may talk about marks. Where the prompt ended
    with the opening mark, the answer begins inside the thought: `began_inside` becomes True when a closing mark comes
    that nothing opened, and everything before it was thought.
    """

    __slots__ = ("_at_start", "_closing", "_held", "_said", "began_inside")

    def __init__(self) -> None:
        self._held = ""
        self._closing: str | None = None
        self._at_start = True
        self._said = True
        self.began_inside = False

    @property
    def thinking(self) -> bool:
        """Whether what comes next is thought."""
        return self._closing is not None

    @property
    def holding(self) -> bool:
        """Whether the end of what was fed could still become a mark."""
        return bool(self._held)

    def feed(self, text: str) -> list[Span]:
        """What is decided with this piece, in order."""
        if text and not self._held and _BEGIN.search(text) is None:
            return [self._span(text)]
        self._held += text
        return list(self._decide(last=False))

    def finish(self) -> list[Span]:
        """What was held back; no more will come."""
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
            self.began_inside |= self._closing is None and mark not in _CLOSING
            self._said, self._at_start = False, True
            self._closing = _CLOSING.get(mark) if self._closing is None else None
            yield Span(mark, thought=True)

    def _span(self, text: str) -> Span:
        if self._closing is None and text.strip(" \t"):
            self._at_start = _LINE_START.search(text) is not None or (self._at_start and not text.strip())
        return Span(text, self._closing is not None)

    def _next_mark(self) -> tuple[int, str | None]:
        """The first mark that counts in what is held, and where."""
        found = [(place, mark) for mark in self._awaited() if (place := self._place(mark)) >= 0]
        return min(found, key=lambda at: (at[0], -len(at[1]))) if found else (-1, None)

    def _place(self, mark: str) -> int:
        place = self._held.find(mark)
        while place >= 0 and mark in _CLOSING and not self._starts_a_line(place):
            place = self._held.find(mark, place + 1)
        return place

    def _starts_a_line(self, place: int) -> bool:
        before = self._held[:place]
        return (self._at_start and not before.strip()) or _LINE_START.search(before) is not None

    def _awaited(self) -> list[str]:
        """The closing mark of the thought, or every opening one; closing ones too while nothing was opened yet."""
        if self._closing is not None:
            return [self._closing]
        return [*_CLOSING, *(_TELLING if self._said else ())]

    def _undecided(self) -> int:
        """How many characters at the end could be the beginning of a mark."""
        tail = self._held[-_LONGEST:]
        for begin in _BEGIN.finditer(tail):
            if any(mark.startswith(tail[begin.start() :]) for mark in self._awaited()):
                return len(tail) - begin.start()
        return 0


def spans(text: str) -> list[Span]:
    """A whole text, split; neighbours of a kind are one span."""
    splitter = ThoughtSplitter()
    found = [*splitter.feed(text), *splitter.finish()]
    if splitter.began_inside:
        last = max(index for index, span in enumerate(found[: _first_opening(found)]) if span.thought)
        found = [Span(span.text, span.thought or index < last) for index, span in enumerate(found)]
    merged: list[Span] = []
    for span in found:
        if merged and merged[-1].thought is span.thought:
            merged[-1] = Span(merged[-1].text + span.text, span.thought)
        else:
            merged.append(span)
    return merged


def without_marks(thought: str) -> str:
    """A thought's text without the marks around it and the white space inside them."""
    text = thought.strip()
    for opening, closing in THINKING_TAGS:
        text = text.removeprefix(opening).removesuffix(closing)
    return text.strip()


def _first_opening(found: list[Span]) -> int:
    return next((index for index, span in enumerate(found) if span.text in _CLOSING), len(found))
