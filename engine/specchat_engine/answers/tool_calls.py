"""Tool calls in what a model writes. All of the `notations` are read, whatever the template says.

What looks like a call and is none stays content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specchat_engine.answers.fenced_calls import FENCE, FencedCalls
from specchat_engine.answers.json_calls import JsonCalls
from specchat_engine.answers.notations import CALL_MARKS
from specchat_engine.answers.parts import AnswerPart, CallReader, PartKind, held_back, merged, without_begun
from specchat_engine.prompt.messages import function_of

_BRACKET: Final = tuple(mark for mark in CALL_MARKS if mark.startswith("["))


class ToolCallParser:
    """Separates calls from the content around them.

    The space next to a call is dropped; content after it is in a new line.

    Without a mark before it, an object is a call only of one of the `tools`, and so is one in a block of code that is
    all there is. An answer in a format of its own calls only if it begins with a mark.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]], *, continued: bool = False, formatted: bool = False) -> None:
        """`tools` are in the form of OpenAI's chat API. A `continued` answer has begun with content, and a `formatted`
        one follows a grammar unless it calls.

        Raises SettingError for tools that are not functions.
        """
        self._schemas = {function["name"]: function.get("parameters") for function in map(function_of, tools)}
        self._text = ""
        self._ended = self._cut = False
        self._step = self._content if continued else self._begin
        self._called = self._parted = False
        self._formatted = formatted
        self._said = continued
        self._head = self._doubtful = ""
        self._mark = ""
        self._closes: tuple[str, ...] = ()
        self._reader: CallReader = JsonCalls()

    def feed(self, text: str) -> list[AnswerPart]:
        """The parts that are certain after this piece."""
        self._text += text
        parts: list[AnswerPart] = []
        while (more := self._step()) is not None:
            parts += more
        return [self._in_new_line(part) for part in merged(parts)]

    def finish(self, *, cut: bool = False) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended. If it was cut off, a call that has only begun is left out."""
        self._ended, self._cut = True, cut
        return self.feed("")

    def _in_new_line(self, part: AnswerPart) -> AnswerPart:
        """The same part, in a new line if it is content after a call that came after content."""
        if part.kind is PartKind.CALL:
            self._parted = self._said
        if part.kind is not PartKind.CONTENT:
            return part
        new_line, self._said, self._parted = "\n" * self._parted, True, False
        return AnswerPart(part.kind, new_line + part.text)

    def _begin(self) -> list[AnswerPart] | None:
        """At the beginning, or after a call: a call may come without a mark."""
        text = self._text.lstrip()
        marks = (*CALL_MARKS, *(() if self._called else (FENCE,)))
        if not self._ended and any(mark.startswith(text) for mark in marks):
            return None
        self._mark = ""
        if self._formatted and not self._called:
            may_call = any(text.startswith(mark) or mark.startswith(text) for mark in CALL_MARKS)
            self._step = self._content if may_call else self._all
            return []
        if self._called:
            self._text = text
            after = text.removeprefix(";").lstrip()
            if text.startswith(";") and not after and not self._ended:
                return None
            if after.startswith("{"):
                text = after
        if text[:1] in ("{", "[") and not text.startswith(_BRACKET):
            self._head, self._text = self._text[: len(self._text) - len(text)], text
            self._open(JsonCalls(self._schemas), ())
        elif text.startswith(FENCE) and not self._called:
            self._head, self._text = self._text[: len(self._text) - len(text)], text
            self._open(FencedCalls(self._schemas), ())
        else:
            self._step = self._content
        return []

    def _all(self) -> list[AnswerPart] | None:
        """In an answer that is content to its end."""
        content, self._text = self._text, ""
        return [AnswerPart(PartKind.CONTENT, content)] if content else None

    def _content(self) -> list[AnswerPart] | None:
        """In content, up to the next mark."""
        text = self._text
        if not text:
            return None
        marks = [(index, mark) for mark in CALL_MARKS if (index := text.find(mark)) >= 0]
        if marks:
            index, mark = min(marks)
            content = text[:index].rstrip()
            self._head, self._text = text[len(content) : index + len(mark)], text[index + len(mark) :]
            self._mark, self._step = mark, self._opened
        elif self._ended:
            content, self._text = without_begun(text, CALL_MARKS) if self._cut else text, ""
        else:
            content = text[: len(text) - held_back(text, CALL_MARKS)].rstrip()
            self._text = text[len(content) :]
        return [AnswerPart(PartKind.CONTENT, content)] if marks or content else None

    def _opened(self) -> list[AnswerPart] | None:
        """After a mark: another mark, or a call."""
        text = self._text.lstrip()
        inner = next((mark for mark in CALL_MARKS if text.startswith(mark)), None)
        if inner:
            self._head += self._text[: len(self._text) - len(text)] + inner
            self._mark, self._text = inner, text.removeprefix(inner)
            return []
        if any(mark.startswith(text) for mark in CALL_MARKS):
            return self._fail(cut=self._cut) if self._ended else None
        mark = CALL_MARKS[self._mark]
        reader = mark.reader_for(text, self._schemas)
        if reader is None:
            return self._fail()
        self._open(reader, mark.closes)
        return []

    def _open(self, reader: CallReader, closes: tuple[str, ...]) -> None:
        self._reader, self._closes, self._step = reader, closes, self._call

    def _call(self) -> list[AnswerPart] | None:
        """Inside a call. Until a part of it is returned, its text may turn out to be content."""
        if not self._text and not self._ended:
            return None
        reader = self._reader
        self._doubtful += self._text
        parts = reader.take(self._text)
        self._text = ""
        cut = self._cut and reader.state == "open" and bool(self._mark)
        if self._ended and reader.state == "open":
            parts += reader.finish()
        if parts:
            self._head = self._doubtful = ""
        if reader.state == "failed":
            return self._fail(cut=cut)
        if reader.state == "complete":
            self._text, self._called, self._step = reader.text, True, self._close
            self._doubtful = ""
        return parts if parts or reader.state != "open" else None

    def _fail(self, *, cut: bool = False) -> list[AnswerPart]:
        """What looked like a call is content; nothing, if it was one that was cut off."""
        head, self._text = ("", "") if cut else (self._head, self._doubtful + self._text)
        self._head = self._doubtful = ""
        self._step = self._content
        return [AnswerPart(PartKind.CONTENT, head)]

    def _close(self) -> list[AnswerPart] | None:
        """After a call: the marks that close it, as far as they are there."""
        text = self._text.lstrip()
        for mark in self._closes:
            if mark.startswith(text) and text != mark:
                if not self._ended:
                    return None
                text = ""
            text = text.removeprefix(mark).lstrip()
        self._text, self._step = text, self._begin
        return []
