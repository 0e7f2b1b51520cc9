"""The harmony format of gpt-oss: each message has a header with its channel, and calls have a recipient.

    <|channel|>analysis<|message|>…<|end|><|start|>assistant<|channel|>final<|message|>…<|return|>
    <|channel|>commentary to=functions.name <|constrain|>json<|message|>{…}<|call|>

Source: OpenAI, "OpenAI harmony response format", 2025.
"""

from __future__ import annotations

import re
from typing import Final

from specchat_engine.answers.parts import AnswerPart, PartKind, held_back, merged, without_begun
from specchat_engine.grammar.source import literal

MARKS: Final = ("<|start|>", "<|channel|>", "<|constrain|>", "<|message|>", "<|end|>")
"""The control tokens that the parser needs to see."""

START: Final = "<|start|>assistant"
"""What begins another message of the model."""

FINAL: Final = "<|channel|>final<|message|>"
"""The header of the message that answers."""

THOUGHTS: Final = tuple((f"{start}<|channel|>analysis<|message|>", "<|end|>") for start in ("", START))
"""The marks around a thought: the header of its message, and the end."""

HEADERS: Final = tuple(
    f"{start}<|channel|>{channel}<|message|>"
    for start in (START, "")
    for channel in ("final", "commentary", "final <|constrain|>json")
)
"""The headers of messages that are not thinking. They count as marks: what follows them is the answer."""

_MESSAGE: Final = "<|message|>"
_ENDS: Final = ("<|start|>", "<|channel|>", "<|end|>", "<|call|>", "<|return|>")
_RECIPIENT: Final = re.compile(r"\bto=([^\s<]+)")
_HEADER: Final = re.compile(r"[^\n]{0,400}")


def call_head(name: str) -> str:
    """Returns the rule for the header of a call of this function."""
    to = literal(f" to=functions.{name}")
    header = f'("<|channel|>commentary" {to} | {to} "<|channel|>commentary")'
    return f'{header} (" " | " "? "<|constrain|>") "json<|message|>"'


class HarmonyParser:
    """Separates reasoning, content and calls by the headers of messages.

    The prompt ends where a header begins, or inside the answer if that is `continued`.
    """

    def __init__(self, *, calls: bool, continued: bool = False) -> None:
        """Without `calls`, a message with a recipient is content."""
        self._calls = calls
        self._text = ""
        self._kind: PartKind | None = PartKind.CONTENT if continued else None
        self._said = self._empty = False

    @property
    def inside(self) -> bool | None:
        """Whether the text so far ends inside the reasoning, None within a header."""
        return None if self._kind is None else self._kind is PartKind.REASONING

    def feed(self, text: str) -> list[AnswerPart]:
        """The parts that are certain after this piece."""
        self._text += text
        return self._parts(ended=False)

    def finish(self, *, cut: bool = False) -> list[AnswerPart]:
        """The rest of the parts, once the text has ended. A header that is not complete says nothing.

        If it was cut off, a mark that has only begun is left out.
        """
        if cut and self._kind is not None:
            self._text = without_begun(self._text, _ENDS)
        return self._parts(ended=True)

    def _parts(self, *, ended: bool) -> list[AnswerPart]:
        parts: list[AnswerPart] = []
        while self._text or ended:
            more = self._header(ended=ended) if self._kind is None else self._body(self._kind, ended=ended)
            if more is None:
                break
            parts += more
        return merged(parts)

    def _header(self, *, ended: bool) -> list[AnswerPart] | None:
        """Reads a header. Text that isn't one is content."""
        header, mark, rest = self._text.partition(_MESSAGE)
        certain = header if mark else header[: len(header) - held_back(header, (_MESSAGE,))]
        if _HEADER.fullmatch(certain) is None or (ended and not mark and "<|" not in header and header.strip()):
            first, self._text = self._text[0], self._text[1:]
            return [*self._begin(PartKind.CONTENT), AnswerPart(PartKind.CONTENT, first)]
        if not mark:
            return None
        self._text = rest
        recipient = _RECIPIENT.search(header)
        if recipient and self._calls:
            self._empty = True
            return [
                AnswerPart(PartKind.CALL, recipient[1].removeprefix("functions.")),
                *self._begin(PartKind.ARGUMENTS),
            ]
        thought = "analysis" in header and not recipient
        return self._begin(PartKind.REASONING if thought else PartKind.CONTENT)

    def _begin(self, kind: PartKind) -> list[AnswerPart]:
        """Begins a message; texts that follow each other are apart."""
        self._kind = kind
        parted = [AnswerPart(kind, "\n")] if self._said and kind is PartKind.CONTENT else []
        self._said |= kind is PartKind.CONTENT
        return parted

    def _body(self, kind: PartKind, *, ended: bool) -> list[AnswerPart] | None:
        """More of a message, up to its end."""
        index, end = min(((index, end) for end in _ENDS if (index := self._text.find(end)) >= 0), default=(-1, ""))
        text = self._text[:index] if end else self._text
        if not end and not ended:
            text = text[: len(text) - held_back(text, _ENDS)]
        self._text = self._text[len(text) :]
        if kind is PartKind.ARGUMENTS and self._empty:
            text = text.lstrip()
            self._empty = not text
        if end or ended:
            self._kind = None
            self._text = self._text.removeprefix(end) if end in ("<|end|>", "<|call|>", "<|return|>") else self._text
            text = text or "{}" * (kind is PartKind.ARGUMENTS and self._empty)
        return [AnswerPart(kind, text)] if text or end else None
