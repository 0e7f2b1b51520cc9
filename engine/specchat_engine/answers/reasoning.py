"""Reasoning before an answer, between tags such as `<think>` and `</think>`. Some templates open it in the prompt."""

from __future__ import annotations

from typing import Literal

from specchat_engine.answers.parts import AnswerPart, PartKind, held_back


class ReasoningParser:
    """Tells the reasoning at the beginning of an answer from what follows it, which it gives as content.

    The space around the tags is dropped. Reasoning that is never closed lasts until the end.
    """

    def __init__(self, tags: tuple[str, str], *, opened: bool = False) -> None:
        """`opened` says that the prompt ends inside the reasoning."""
        self._open, self._close = tags
        self._opened = opened
        self._buffer = ""
        self._state: Literal["beginning", "reasoning", "closed", "content"] = "beginning"
        self._begun = False

    @property
    def inside(self) -> bool | None:
        """Whether the text so far ends inside the reasoning, None while that is not certain."""
        return None if self._state == "beginning" else self._state == "reasoning"

    def feed(self, text: str) -> list[AnswerPart]:
        """The parts that are certain after this piece."""
        self._buffer += text
        return self._parts(ended=False)

    def finish(self) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended."""
        return self._parts(ended=True)

    def _parts(self, *, ended: bool) -> list[AnswerPart]:
        parts: list[AnswerPart] = []
        if self._state == "beginning":
            self._begin(ended=ended)
        if self._state == "reasoning":
            parts.append(AnswerPart(PartKind.REASONING, self._reasoning(ended=ended)))
        if self._state == "closed":
            self._buffer = self._buffer.lstrip()
            self._state = "content" if self._buffer else "closed"
        if self._state == "content":
            parts.append(AnswerPart(PartKind.CONTENT, self._buffer))
            self._buffer = ""
        return parts

    def _begin(self, *, ended: bool) -> None:
        """Looks for the opening tag."""
        text = self._buffer.lstrip()
        if text.startswith(self._open):
            self._state, self._buffer = "reasoning", text.removeprefix(self._open)
        elif ended or not self._open.startswith(text):
            self._state = "reasoning" if self._opened else "content"

    def _reasoning(self, *, ended: bool) -> str:
        """What is certain to be reasoning."""
        if not self._begun:
            self._buffer = self._buffer.lstrip()
            self._begun = bool(self._buffer)
        reasoning, found, rest = self._buffer.partition(self._close)
        if found:
            self._state, self._buffer = "closed", rest
            return reasoning.rstrip()
        if ended:
            self._buffer = ""
            return reasoning
        certain = reasoning[: len(reasoning) - held_back(reasoning, (self._close,))].rstrip()
        self._buffer = reasoning[len(certain) :]
        return certain
