"""Reasoning as a server sends it, beside the answer, and as a text with marks, which is how models write it."""

from __future__ import annotations

from specchat.remote.chunks import Chunk, Token
from specchat_engine.answers.thoughts import THOUGHT_MARKS, USUAL_MARKS, split_thinking

_OPENING, _CLOSING = f"{USUAL_MARKS[0]}\n", f"\n{USUAL_MARKS[1]}\n\n"


class ThoughtMarks:
    """Puts marks around the reasoning of one answer."""

    def __init__(self) -> None:
        self._thinks = False

    def tokens(self, chunk: Chunk) -> list[Token]:
        """The tokens of a chunk with the marks in their texts. Without tokens there is one with all of the text."""
        text = self._marked(chunk)
        plain = chunk.reasoning + chunk.content
        if text == plain and chunk.tokens:
            return [*chunk.tokens]
        if not chunk.tokens:
            return [Token(None, text)] if text else []
        if not (chunk.reasoning and chunk.content) and text.endswith(plain):
            first, *others = chunk.tokens
            return [first._replace(text=text.removesuffix(plain) + first.text), *others]
        first, *others = chunk.tokens
        return [first._replace(text=text), *(token._replace(text="") for token in others)]

    def finish(self) -> str:
        """The mark that is still missing at the end of an answer."""
        return self._closing()

    def _marked(self, chunk: Chunk) -> str:
        text = ""
        if chunk.reasoning:
            text = ("" if self._thinks else _OPENING) + chunk.reasoning
            self._thinks = True
        return f"{text}{self._closing()}{chunk.content}" if chunk.content else text

    def _closing(self) -> str:
        closing = _CLOSING if self._thinks else ""
        self._thinks = False
        return closing


def without_thoughts(answer: str) -> str:
    """An earlier answer as a server is to read it again: without the thought that it began with."""
    rest = split_thinking(answer)[1]
    return rest if rest or any(closing in answer for _, closing in THOUGHT_MARKS) else answer
