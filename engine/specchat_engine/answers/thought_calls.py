"""Calls at the end of a thought: some models call a tool before they close the thought, or without closing it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from specchat_engine.answers.notations import CALL_MARKS
from specchat_engine.answers.parts import AnswerPart, PartKind, held_back
from specchat_engine.answers.tool_calls import ToolCallParser
from specchat_engine.prompt.messages import function_of


class ThoughtCalls:
    """Takes the text of a thought and holds back what may be calls: all from a mark on, while nothing else follows.

    They are calls if the answer ends after them. If it goes on, they belong to the thought, which may quote some.
    """

    def __init__(self, tools: Sequence[Mapping[str, Any]]) -> None:
        """`tools` are in the form of OpenAI's chat API."""
        self._tools = tools
        self._names = {function_of(tool)["name"] for tool in tools}
        self._held = ""
        self._parser: ToolCallParser | None = None
        self._parts: list[AnswerPart] = []
        self._mark_ends = 0
        """The length of the held text up to the end of its mark."""

    def feed(self, text: str) -> str:
        """Takes more of the thought, and returns the text that is certain to be one."""
        self._held += text
        certain = ""
        while True:
            if self._parser is None:
                more, unread = self._before_mark()
                certain += more
            else:
                unread = text
            if self._parser is None:
                return certain
            self._parts += self._parser.feed(unread)
            if not self._says_more:
                return certain
            certain += self._passed_mark()

    def release(self) -> str:
        """The text that was held back, because the answer goes on after the thought."""
        held, self._held, self._parser, self._parts = self._held, "", None, []
        return held

    def finish(self) -> list[AnswerPart]:
        """The text that was held back, as calls if it is nothing else."""
        thought = ""
        while self._parser:
            self._parts += self._parser.finish()
            if self._are_calls:
                return [AnswerPart(PartKind.REASONING, thought.rstrip()), *self._parts]
            thought += self._passed_mark()
            thought += self.feed("")
        return [AnswerPart(PartKind.REASONING, thought + self.release())]

    def _before_mark(self) -> tuple[str, str]:
        """Begins to read calls at the next mark. Returns the text before it, and what is to be read."""
        text = self._held
        marks = [(index, mark) for mark in CALL_MARKS if (index := text.find(mark)) >= 0]
        if not marks:
            certain = text[: len(text) - held_back(text, CALL_MARKS)].rstrip()
            self._held = text[len(certain) :]
            return certain, ""
        index, mark = min(marks)
        certain = text[:index].rstrip()
        self._held, self._mark_ends = text[len(certain) :], index + len(mark) - len(certain)
        self._parser, self._parts = ToolCallParser(self._tools), []
        return certain, self._held

    def _passed_mark(self) -> str:
        """Goes on after the mark, which began no call. Returns the text up to there."""
        passed, self._held = self._held[: self._mark_ends], self._held[self._mark_ends :]
        self._parser, self._parts = None, []
        return passed

    @property
    def _says_more(self) -> bool:
        return any(part.kind is PartKind.CONTENT and part.text.strip() for part in self._parts)

    @property
    def _are_calls(self) -> bool:
        """Whether there is nothing but complete calls of known functions."""
        names = [part.text for part in self._parts if part.kind is PartKind.CALL]
        return (
            bool(names)
            and self._names.issuperset(names)
            and not self._says_more
            and all(map(_is_object, _arguments(self._parts)))
        )


def _arguments(parts: Sequence[AnswerPart]) -> list[str]:
    """The arguments of each call."""
    arguments: list[str] = []
    for part in parts:
        if part.kind is PartKind.CALL:
            arguments.append("")
        elif part.kind is PartKind.ARGUMENTS:
            arguments[-1] += part.text
    return arguments


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False
