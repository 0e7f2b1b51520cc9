"""The kind of content of each token of an answer: prose, code, a list or table, thinking, or calls of tools.

This module reads the answer. `specchat_engine.policy.acceptance` guesses the kind of text from the request, before
there is an answer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import StrEnum

from specchat_engine.answers.harmony import HEADERS
from specchat_engine.answers.notations import CALL_MARKS
from specchat_engine.answers.thoughts import THOUGHT_MARKS, closes_unopened_thinking
from specchat_engine.decoding.rounds import Round


class ContentKind(StrEnum):
    """What a token is part of. `LIST` includes tables; `CODE` is text in fences."""

    PROSE = "prose"
    CODE = "code"
    LIST = "list"
    THINKING = "thinking"
    TOOLS = "tools"


_CALL = re.compile(rf"(?<!`)(?:{'|'.join(map(re.escape, CALL_MARKS))}|<\|channel\|>commentary to=)")
"""Where a call begins in the notation of some model."""

_BARE_CALL = re.compile(r'\{\s*"name"\s*:\s*"[\w.-]{1,64}"\s*,\s*"(?:parameters|arguments)"\s*:')
"""The beginning of a call without a mark, which is all that an answer says."""

_CLOSING = tuple(closing for _, closing in THOUGHT_MARKS)
_ITEM = re.compile(r"(?:[-*+•]|\d{1,9}[.)])[ \t]")
_FENCE = re.compile(r"(`{3,}|~{3,})")
_KEPT = 256
"""Only this many characters of a line are examined. The marks that decide its kind or close a fence are shorter."""


def kinds_of(texts: Sequence[str], *, thinking: bool = False) -> list[ContentKind]:
    """Returns the kind of each token of a whole answer: the kind of its first character other than white space.

    An empty token has the kind of the next one. `thinking` is True if the prompt has opened the thinking and the answer
    only closes it.
    """
    characters = _kinds_of_characters("".join(texts), thinking=thinking)
    kinds: list[ContentKind] = []
    start = 0
    for text in texts:
        blank = len(text) - len(text.lstrip())
        first = start + (blank if blank < len(text) else 0)
        kinds.append(characters[min(first, len(characters) - 1)] if characters else ContentKind.PROSE)
        start += len(text)
    return kinds


def _kinds_of_characters(text: str, *, thinking: bool) -> list[ContentKind]:
    kinds: list[ContentKind] = []
    closing = _CLOSING if thinking else ()
    fence, last = "", ContentKind.PROSE
    while (begin := len(kinds)) < len(text):
        if closing:
            ends = [at + len(tag) for tag in closing if (at := text.find(tag, begin)) >= 0]
            kinds += [ContentKind.THINKING] * (min(ends, default=len(text)) - begin)
            closing, last = (), ContentKind.PROSE
            continue
        length = (text.find("\n", begin) + 1 or len(text)) - begin
        call = None if fence else _CALL.search(text, begin, begin + length) or _bare_call(text, begin, kinds)
        if call is not None and call.start() == begin:
            kinds += [ContentKind.TOOLS] * (_end_of_call(text, call) - begin)
            last = ContentKind.PROSE
            continue
        if call is not None:
            length = call.start() - begin
        line = text[begin : begin + min(length, _KEPT)]
        start = line.lstrip()
        if fence:
            kinds += [ContentKind.CODE] * length
            if len(start.rstrip()) >= len(fence) and not start.rstrip().strip(fence[0]):
                fence = ""
        elif tags := next((tags for tags in THOUGHT_MARKS if start.startswith(tags[0])), None):
            kinds += [ContentKind.THINKING] * (len(line) - len(start) + len(tags[0]))
            closing = tags[1:]
        elif header := next((header for header in HEADERS if start.startswith(header)), ""):
            kinds += [ContentKind.THINKING] * (len(line) - len(start) + len(header))
        else:
            kind = _kind_of_line(line, last)
            kinds += [kind] * length
            opened = _FENCE.match(start) if kind is ContentKind.CODE else None
            fence = opened.group(1) if opened else ""
            last = ContentKind.PROSE if opened else kind
    return kinds


def _bare_call(text: str, start: int, kinds: Sequence[ContentKind]) -> re.Match[str] | None:
    """A call without a mark, if only thinking and white space come before it."""
    call = _BARE_CALL.match(text, start)
    alone = call and all(kind is ContentKind.THINKING or text[at].isspace() for at, kind in enumerate(kinds))
    return call if alone else None


def _end_of_call(text: str, call: re.Match[str]) -> int:
    """The end of the last mark that closes a call, before the next one; the end of the text if nothing closes it."""
    mark = CALL_MARKS.get(call[0])
    following = _CALL.search(text, call.end())
    limit = following.start() if following else len(text)
    closes = mark.closes if mark else ()
    ends = [at + len(closing) for closing in closes if (at := text.rfind(closing, call.end(), limit)) >= 0]
    return max(ends, default=limit)


def _kind_of_line(line: str, before: ContentKind) -> ContentKind:
    """The kind of a line outside fences and thinking. `before` is the kind of the last line."""
    start = line.lstrip()
    if not start:
        return before
    if fence := _FENCE.match(start):
        is_inline = fence.group(1)[0] == "`" and "`" in start[fence.end() :]
        return ContentKind.PROSE if is_inline else ContentKind.CODE
    if start[0] == "|" or _ITEM.match(start):
        return ContentKind.LIST
    indented = len(line) - len(start) >= 2
    return ContentKind.LIST if before is ContentKind.LIST and indented else ContentKind.PROSE


def kinds_of_rounds(rounds: Sequence[Round]) -> list[ContentKind]:
    """Returns the kind of each round of a whole answer: the most common one of its tokens, or the first in a tie."""
    texts = [[token.text for token in event.emitted] for event in rounds]
    answer = [text for emitted in texts for text in emitted]
    kinds = iter(kinds_of(answer, thinking=closes_unopened_thinking("".join(answer))))
    chosen: list[ContentKind] = []
    for emitted in texts:
        own = [next(kinds) for _ in emitted]
        chosen.append(max(own, key=own.count) if own else chosen[-1] if chosen else ContentKind.PROSE)
    return chosen
