"""Tool calls in what a model writes. Models use many notations, and this reads them all, whatever the template says:

- `<tool_call>{"name": …, "arguments": {…}}</tool_call>`: Hermes, Qwen and many others
- `<tool_call><function=name><parameter=key>value</parameter></function></tool_call>`: Qwen3-Coder
- `<|python_tag|>{"name": …, "parameters": {…}}`, also without the tag and with several after semicolons: Llama 3
- `[TOOL_CALLS][{"name": …, "arguments": {…}}]` and `[TOOL_CALLS]name[ARGS]{…}`: Mistral
- such an object, or a list of them, between other tags or alone, at the beginning of the content

What looks like a call and is none stays content.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from specchat_engine.answers.json_calls import JsonCalls, NamedCall
from specchat_engine.answers.parts import AnswerPart, CallReader, PartKind, held_back, merged
from specchat_engine.answers.xml_calls import XmlCall
from specchat_engine.prompt.messages import function_of

_XML: Final = "<function="
_MISTRAL: Final = "[TOOL_CALLS]"
_TAGS: Final[Mapping[str, str]] = {
    "<tool_call>": "</tool_call>",
    "<tool_calls>": "</tool_calls>",
    "<TOOLCALL>": "</TOOLCALL>",
    "<|tool_call|>": "",
    "<|python_tag|>": "",
    _MISTRAL: "",
    _XML: "</tool_call>",
}
"""What comes before and after calls."""

_TEXTS: Final = ("", _XML)
"""Tags that are no control token in any model."""

MARKS: Final = (
    *dict.fromkeys(tag for both in _TAGS.items() for tag in both if tag not in _TEXTS),
    "[CALL_ID]",
    "[ARGS]",
)
"""The control tokens that the parser needs to see."""


class ToolCallParser:
    """Tells calls from the content around them. The space next to a call is dropped.

    Without a tag before it, an object is a call only of one of the `tools`.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """`tools` are in the form of OpenAI's chat API. Raises SettingError for those that are no functions."""
        self._schemas = {one["name"]: one.get("parameters") for one in map(function_of, tools)}
        self._text = ""
        self._ended = False
        self._step = self._begin
        self._called = False
        self._head = self._tag = self._doubtful = ""
        self._reader: CallReader = JsonCalls()

    def feed(self, text: str) -> list[AnswerPart]:
        """The parts that are certain after this piece."""
        self._text += text
        parts: list[AnswerPart] = []
        while (told := self._step()) is not None:
            parts += told
        return merged(parts)

    def finish(self) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended."""
        self._ended = True
        return self.feed("")

    def _begin(self) -> list[AnswerPart] | None:
        """At the beginning, or after a call: a call may come without a tag."""
        text = self._text.lstrip()
        if not self._ended and any(tag.startswith(text) for tag in _TAGS):
            return None
        if self._called:
            self._text = text
            after = text.removeprefix(";").lstrip()
            if text.startswith(";") and not after and not self._ended:
                return None
            if after.startswith("{"):
                text = after
        if text[:1] in ("{", "[") and not text.startswith(_MISTRAL):
            self._open("", JsonCalls(self._schemas))
            self._head, self._text = self._text[: len(self._text) - len(text)], text
        else:
            self._step = self._content
        return []

    def _content(self) -> list[AnswerPart] | None:
        """In content, up to the next tag."""
        text = self._text
        if not text:
            return None
        found = [(place, tag) for tag in _TAGS if (place := text.find(tag)) >= 0]
        if found:
            place, tag = min(found)
            content = text[:place].rstrip()
            self._head, self._text = text[len(content) : place + len(tag)], text[place + len(tag) :]
            self._tag, self._step = tag, self._opened
        elif self._ended:
            content, self._text = text, ""
        else:
            content = text[: len(text) - held_back(text, _TAGS)].rstrip()
            self._text = text[len(content) :]
        return [AnswerPart(PartKind.CONTENT, content)] if found or content else None

    def _opened(self) -> list[AnswerPart] | None:
        """After a tag: what kind of call it is."""
        text = self._text.lstrip()
        if self._tag == _XML:
            self._open(_XML, XmlCall(self._schemas))
        elif not text or (_XML.startswith(text) and text != _XML):
            if not self._ended:
                return None
            return self._fail()
        elif text[0] in ("{", "["):
            self._open(self._tag, JsonCalls())
        elif text.startswith(_XML):
            self._open(self._tag, XmlCall(self._schemas))
            self._head, self._text = self._head + self._text[: -len(text)] + _XML, text.removeprefix(_XML)
        elif self._tag == _MISTRAL:
            self._open(self._tag, NamedCall())
        else:
            return self._fail()
        return []

    def _open(self, tag: str, reader: CallReader) -> None:
        self._tag, self._reader, self._step = tag, reader, self._call

    def _call(self) -> list[AnswerPart] | None:
        """Inside a call. Until something is told of it, its text may turn out to be content."""
        if not self._text and not self._ended:
            return None
        reader = self._reader
        self._doubtful += self._text
        parts = reader.take(self._text)
        self._text = ""
        if self._ended and reader.state == "open":
            parts += reader.finish()
        if parts:
            self._head = self._doubtful = ""
        if reader.state == "failed":
            return self._fail()
        if reader.state == "complete":
            self._text, self._called, self._step = reader.text, True, self._close
            self._doubtful = ""
        return parts if parts or reader.state != "open" else None

    def _fail(self) -> list[AnswerPart]:
        """What looked like a call is content."""
        head, self._text = self._head, self._doubtful + self._text
        self._head = self._doubtful = ""
        self._step = self._content
        return [AnswerPart(PartKind.CONTENT, head)]

    def _close(self) -> list[AnswerPart] | None:
        """After a call: its closing tag, if there is one."""
        text, tag = self._text.lstrip(), _TAGS.get(self._tag, "")
        if tag.startswith(text) and text != tag and not self._ended:
            return None
        self._text, self._step = text.removeprefix(tag), self._begin
        return []
