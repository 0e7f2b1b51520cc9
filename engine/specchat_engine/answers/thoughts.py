"""The marks that models put around their thoughts, and how texts with such marks are written and split.

`ThoughtSplitter` splits a text while it streams. A mark may arrive in one token or in pieces, so text that may become
one is held back until that is decided. Nothing is lost: the texts of the spans, joined, are the text that was fed.
Where the marks of a model are known, `ReasoningParser` looks for these alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from specchat_engine.answers.harmony import HEADERS, THOUGHTS

Marks = tuple[str, str]
"""The opening mark of a thought, at the start of a line, and the closing one."""

USUAL_MARKS: Final = ("<think>", "</think>")

IN_TEMPLATES: Final[tuple[Marks, ...]] = (
    USUAL_MARKS,
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|channel>thought", "<channel|>"),
)
"""The marks by which a chat template shows how its models think."""

THOUGHT_MARKS: Final[tuple[Marks, ...]] = (
    *IN_TEMPLATES,
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("◁think▷", "◁/think▷"),
    *THOUGHTS,
)
"""The marks of all models."""

TELLING: Final = tuple(closing for _, closing in THOUGHT_MARKS if closing != "<|end|>")
"""The closing marks that imply thinking even if nothing was opened. `<|end|>` does not: it ends any message."""

_CLOSING = dict(THOUGHT_MARKS)
_AT_LINE_STARTS = frozenset((*_CLOSING, *HEADERS))
_MARKS = (*HEADERS, *(mark for pair in THOUGHT_MARKS for mark in pair))
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
    message that is not thinking belongs to the thought before it.
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
            index, mark = self._next_mark()
            if mark is None:
                keep = 0 if last else self._undecided()
                decided, self._held = self._held[: len(self._held) - keep], self._held[len(self._held) - keep :]
                if decided:
                    yield self._span(decided)
                return
            before, self._held = self._held[:index], self._held[index + len(mark) :]
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
        marks = [(index, mark) for mark in self._awaited() if (index := self._index_of(mark)) >= 0]
        return min(marks, key=lambda at: (at[0], -len(at[1]))) if marks else (-1, None)

    def _index_of(self, mark: str) -> int:
        index = self._held.find(mark)
        while index >= 0 and mark in _AT_LINE_STARTS and not self._starts_a_line(index):
            index = self._held.find(mark, index + 1)
        return index

    def _starts_a_line(self, index: int) -> bool:
        before = self._held[:index]
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
    for opening, closing in THOUGHT_MARKS:
        text = text.removeprefix(opening).removesuffix(closing)
    return text.strip()


def with_thought(thought: str, content: str, marks: Marks = USUAL_MARKS) -> str:
    """Returns an answer as a model writes it, with its thought between marks."""
    opening, closing = marks
    return f"{opening}\n{thought}\n{closing}\n\n{content}" if thought else content


def closes_unopened_thinking(text: str) -> bool:
    """True if an answer closes thinking that its prompt had opened, as some templates do."""
    places = [(text.find(tag), tag) for marks in THOUGHT_MARKS for tag in marks if tag in text]
    return bool(places) and min(places)[1] in TELLING


def split_thinking(answer: str) -> tuple[str, str]:
    """The thinking that an answer begins with, without its marks, and the rest of the answer.

    Thinking that never ends is all there is. An answer without thinking is returned as it is. A closing mark that
    nothing opened has to end its line, so that an answer may mention it.
    """
    thoughts: list[str] = []
    rest = answer.lstrip()
    if closes_unopened_thinking(rest):
        index, closing = min((rest.find(tag), tag) for tag in TELLING if tag in rest)
        thought, after = rest[:index], rest[index + len(closing) :]
        if after[:1] in ("", "\n"):
            thoughts, rest = [thought.strip()], after
    marked = bool(thoughts)
    while mark := next((mark for mark in (*_CLOSING, *HEADERS) if rest.lstrip().startswith(mark)), ""):
        marked, rest = True, rest.lstrip().removeprefix(mark)
        if closing := _CLOSING.get(mark, ""):
            thought, _, rest = rest.partition(closing)
            thoughts.append(thought.strip())
    return ("\n".join(filter(None, thoughts)), rest.lstrip("\n")) if marked else ("", answer)
