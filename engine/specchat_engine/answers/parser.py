"""Separates an answer's parts while it streams, or once it is complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from specchat_engine.answers.format import AnswerFormat
from specchat_engine.answers.harmony import HarmonyParser
from specchat_engine.answers.parts import AnswerPart, PartKind, held_back, merged, without_begun
from specchat_engine.answers.thought_calls import ThoughtCalls
from specchat_engine.answers.thoughts import with_thought
from specchat_engine.answers.tool_calls import ToolCallParser
from specchat_engine.prompt.messages import ToolCall


class ReasoningParser:
    """Separates the reasoning at the beginning of an answer from what follows, which it gives as content.

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

    def finish(self, *, cut: bool = False) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended. If it was cut off, a tag that has only begun is left out."""
        if cut:
            self._buffer = without_begun(self._buffer, (self._open, self._close))
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
        reasoning, mark, rest = self._buffer.partition(self._close)
        if mark:
            self._state, self._buffer = "closed", rest
            return reasoning.rstrip()
        if ended:
            self._buffer = ""
            return reasoning
        certain = reasoning[: len(reasoning) - held_back(reasoning, (self._close,))].rstrip()
        self._buffer = reasoning[len(certain) :]
        return certain


class AnswerParser:
    """Takes an answer's text in pieces and gives its parts. What it gives does not depend on where the text is cut.

    Nothing is refused: what looks like a call and is none stays content. Arguments that go out as they come may turn
    out to be incomplete, as those of an answer that was cut off.
    """

    def __init__(
        self,
        answer_format: AnswerFormat,
        tools: Sequence[Mapping[str, Any]] = (),
        *,
        thinking: bool = False,
        continued: bool = False,
        formatted: bool = False,
    ) -> None:
        """`tools`, in the form of OpenAI's chat API, are those that the model knows of; without any there are no
        calls. `thinking` says that the prompt opened the reasoning, see `Session.opens_reasoning`, and `continued` that
        it ended with the beginning of the answer's content. A `formatted` answer follows a grammar unless it calls."""
        harmony = answer_format.calls == "harmony"
        knows = bool(tools) and not harmony
        self._first = (
            HarmonyParser(calls=bool(tools), continued=continued)
            if harmony
            else ReasoningParser(answer_format.thinking, opened=thinking)
        )
        self._second = ToolCallParser(tools, continued=continued, formatted=formatted) if knows else None
        self._in_thought = ThoughtCalls(tools) if knows else None

    @property
    def inside(self) -> bool | None:
        """Whether the text so far ends inside the reasoning, None while that is not certain."""
        return self._first.inside

    def feed(self, text: str) -> list[AnswerPart]:
        """The parts that are certain after this piece."""
        return self._parted(self._first.feed(text))

    def finish(self, *, cut: bool = False) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended. If it was cut off, a mark that has only begun is left out."""
        parts = self._parted(self._first.finish(cut=cut))
        if self._in_thought:
            parts += self._in_thought.finish()
        return merged((*parts, *(self._second.finish(cut=cut) if self._second else ())))

    def _parted(self, parts: Sequence[AnswerPart]) -> list[AnswerPart]:
        """The same parts, with the calls apart."""
        if self._second is None or self._in_thought is None:
            return [*parts]
        separated: list[AnswerPart] = []
        for part in parts:
            if part.kind is PartKind.REASONING:
                separated.append(AnswerPart(part.kind, self._in_thought.feed(part.text)))
            elif part.text:
                separated.append(AnswerPart(PartKind.REASONING, self._in_thought.release()))
                separated += self._second.feed(part.text)
        return merged(separated)


@dataclass(frozen=True, slots=True)
class Answer:
    """A complete answer, with its calls in order. They have no ids: models do not write any that can be relied on."""

    content: str
    reasoning: str = ""
    tool_calls: tuple[ToolCall, ...] = ()

    def without_calls(self, tags: tuple[str, str]) -> str:
        """What the answer says beside its calls: the reasoning between these tags, then the content."""
        return with_thought(self.reasoning, self.content, tags).rstrip() if self.reasoning else self.content

    @classmethod
    def of(cls, parts: Sequence[AnswerPart]) -> Answer:
        """What these parts make up."""
        content, reasoning = (
            "".join(part.text for part in parts if part.kind is kind) for kind in (PartKind.CONTENT, PartKind.REASONING)
        )
        calls: list[tuple[str, str]] = []
        for part in parts:
            if part.kind is PartKind.CALL:
                calls.append((part.text, ""))
            elif part.kind is PartKind.ARGUMENTS:
                calls[-1] = calls[-1][0], calls[-1][1] + part.text
        return cls(content, reasoning, tuple(ToolCall(name, arguments) for name, arguments in calls))


def parse_answer(
    text: str,
    answer_format: AnswerFormat,
    tools: Sequence[Mapping[str, Any]] = (),
    *,
    thinking: bool = False,
    formatted: bool = False,
) -> Answer:
    """The parts of a complete answer, see `AnswerParser`."""
    parser = AnswerParser(answer_format, tools, thinking=thinking, formatted=formatted)
    return Answer.of([*parser.feed(text), *parser.finish()])
