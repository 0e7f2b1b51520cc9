"""The kind of content of each token of an answer: prose, code, a list or table, or thinking.

This module reads the answer. `specchat_engine.policy.acceptance` guesses the kind of text from the request, before
there is an answer.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum

from specchat_engine.decoding.rounds import Outcome, Round


class ContentKind(StrEnum):
    """What a token is part of. `LIST` includes tables; `CODE` is text in fences."""

    PROSE = "prose"
    CODE = "code"
    LIST = "list"
    THINKING = "thinking"


THINKING_TAGS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
    ("◁think▷", "◁/think▷"),
    ("<|channel|>analysis<|message|>", "<|end|>"),
)
"""The marks around thinking: the opening one, at the start of a line, and the closing one."""

_CLOSING = tuple(closing for _, closing in THINKING_TAGS)
_LONGEST_TAG = max(len(tag) for pair in THINKING_TAGS for tag in pair)
_ITEM = re.compile(r"(?:[-*+•]|\d{1,9}[.)])[ \t]")
_PART_OF_ITEM = re.compile(r"(?:[-*+•]|\d{1,9}[.)]?)?")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_KEPT = 256
"""Only this many characters of a line are examined. Whatever tells its kind or closes a fence is shorter."""


class KindReader:
    """Reads the texts of an answer's tokens in order. The kind of a character does not depend on token boundaries.

    `thinking` is True if the prompt has opened the thinking and the answer only closes it.
    """

    def __init__(self, *, thinking: bool = False) -> None:
        self._closing: tuple[str, ...] = _CLOSING if thinking else ()
        self._fence = ""
        self._line = ""
        self._open = True
        self._last = ContentKind.THINKING if thinking else ContentKind.PROSE
        self._kinds: deque[ContentKind] = deque()
        self._tokens: deque[str] = deque()

    def feed(self, text: str) -> list[ContentKind]:
        """The kinds of the tokens that are now decided, in order. A later token may decide this one's kind."""
        self._tokens.append(text)
        for character in text:
            self._read(character)
        return [*self._decided()]

    def finish(self) -> list[ContentKind]:
        """The kinds of the remaining tokens at the end of the answer."""
        if self._open and self._line and not self._closing and not self._fence:
            self._label(_kind_of_line(self._line, self._last, complete=True) or self._last)
        return [*self._decided()]

    def _read(self, character: str) -> None:
        if self._closing:
            self._read_thinking(character)
        elif self._fence:
            self._read_code(character)
        elif self._open:
            self._read_start(character)
        else:
            self._kinds.append(self._last)
            if character == "\n":
                self._begin_line()

    def _read_thinking(self, character: str) -> None:
        self._line = (self._line + character)[-_LONGEST_TAG:]
        self._kinds.append(ContentKind.THINKING)
        if any(self._line.endswith(closing) for closing in self._closing):
            self._closing, self._last = (), ContentKind.PROSE
            self._begin_line()

    def _read_code(self, character: str) -> None:
        if len(self._line) < _KEPT:
            self._line += character
        self._kinds.append(ContentKind.CODE)
        if character == "\n":
            line = self._line.strip()
            if len(line) >= len(self._fence) and not line.strip(self._fence[0]):
                self._fence = ""
            self._begin_line()

    def _read_start(self, character: str) -> None:
        """A line whose kind is not yet known waits for more characters."""
        self._line += character
        start = self._line.lstrip()
        for opening, closing in THINKING_TAGS:
            if start == opening:
                self._label(ContentKind.THINKING)
                self._closing = (closing,)
                return
        complete = character == "\n" or len(self._line) >= _KEPT
        kind = _kind_of_line(self._line, self._last, complete=complete)
        if kind is None:
            return
        fence = _FENCE.match(start) if kind is ContentKind.CODE else None
        self._label(kind)
        self._last = ContentKind.PROSE if fence else kind
        self._fence = fence.group(1) if fence else ""
        if character == "\n":
            self._begin_line()

    def _label(self, kind: ContentKind) -> None:
        """Gives this kind to all of the line that waited."""
        self._kinds.extend([kind] * len(self._line))
        self._open = False

    def _begin_line(self) -> None:
        self._line, self._open = "", True

    def _decided(self) -> Iterator[ContentKind]:
        """A token has the kind of its first character that is no white space, an empty token that of the next."""
        while self._tokens and len(self._tokens[0]) <= len(self._kinds):
            text = self._tokens.popleft()
            kinds = [self._kinds.popleft() for _ in text]
            blank = len(text) - len(text.lstrip())
            yield kinds[blank if blank < len(text) else 0] if kinds else self._kinds[0] if self._kinds else self._last


def _kind_of_line(line: str, before: ContentKind, *, complete: bool) -> ContentKind | None:
    """The kind of a line with this beginning; None if more of it may change that. `before` is the last line's kind."""
    start = line.lstrip()
    if not start:
        return before if complete else None
    if fence := _FENCE.match(start):
        told = start[fence.end() :]
        if fence.group(1)[0] == "`" and "`" in told:
            return ContentKind.PROSE
        return ContentKind.CODE if complete else None
    if start[0] == "|" or _ITEM.match(start):
        return ContentKind.LIST
    if not complete and _could_become_more(start):
        return None
    indented = len(line) - len(start) >= 2
    return ContentKind.LIST if before is ContentKind.LIST and indented else ContentKind.PROSE


def _could_become_more(start: str) -> bool:
    """Whether a fence, an item of a list or an opening tag may begin so."""
    return (
        start in ("`", "``", "~", "~~")
        or _PART_OF_ITEM.fullmatch(start) is not None
        or any(opening.startswith(start) for opening, _ in THINKING_TAGS)
    )


def kinds_of(texts: Iterable[str], *, thinking: bool = False) -> list[ContentKind]:
    """The kind of each token of a whole answer."""
    reader = KindReader(thinking=thinking)
    found = [kind for text in texts for kind in reader.feed(text)]
    return found + reader.finish()


def closes_unopened_thinking(text: str) -> bool:
    """True if an answer closes thinking that its prompt had opened, as some templates do."""
    places = [(text.find(tag), tag) for tag in (*_CLOSING, *(opening for opening, _ in THINKING_TAGS)) if tag in text]
    return bool(places) and min(places)[1] in _CLOSING[:-1]


def kinds_of_rounds(rounds: Sequence[Round]) -> list[ContentKind]:
    """The kind of each round of a whole answer: that of most of its emitted tokens, or of the first in a tie."""
    texts = [[token.text for token in event.drafted if token.outcome is Outcome.ACCEPTED] for event in rounds]
    for event, emitted in zip(rounds, texts, strict=True):
        if len(emitted) < event.num_emitted:
            emitted.append(event.token.text)
    answer = [text for emitted in texts for text in emitted]
    kinds = iter(kinds_of(answer, thinking=closes_unopened_thinking("".join(answer))))
    found: list[ContentKind] = []
    for emitted in texts:
        own = [next(kinds) for _ in emitted]
        found.append(max(own, key=own.count) if own else found[-1] if found else ContentKind.PROSE)
    return found
