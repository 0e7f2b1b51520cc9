"""Turns a conversation into the token ids that the model continues, without its oldest turns if it is too long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from specchat_engine.errors import ContextOverflowError, TemplateError
from specchat_engine.prompt.template import ChatTemplate, Message


class Tokenizer(Protocol):
    """What encoding a prompt needs from a vocabulary."""

    @property
    def special_texts(self) -> tuple[str, ...]:
        """Texts that the tokenizer would read as control tokens."""

    @property
    def adds_bos(self) -> bool:
        """Whether a prompt begins with the beginning-of-sequence token."""

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text."""


def encode(messages: Sequence[Message], template: ChatTemplate, tokenizer: Tokenizer) -> list[int]:
    """The prompt's ids. Control tokens come from the template alone: if a message spells one out, it stays text.

    A mark is put inside such a text before rendering, and the parts between the marks are tokenized one by one. Raises
    TemplateError if the template fails or renders nothing.
    """
    mark = _unused_mark([*(message.content for message in messages), *tokenizer.special_texts])
    guarded = [Message(message.role, _guard(message.content, mark, tokenizer.special_texts)) for message in messages]
    pieces = template.render(guarded).split(mark)
    ids = tokenizer.tokenize(pieces[0], special=True, add_bos=tokenizer.adds_bos)
    if len(ids) > 1 and tokenizer.adds_bos and ids[0] == ids[1]:
        del ids[0]
    for piece in pieces[1:]:
        ids += tokenizer.tokenize(piece, special=True)
    if not ids:
        raise TemplateError("the model's chat template makes an empty prompt of this conversation; try another file")
    return ids


def _guard(content: str, mark: str, texts: Sequence[str]) -> str:
    for text in texts:
        while len(text) > 1 and text in content:
            content = content.replace(text, text[0] + mark + text[1:])
    return content


def _unused_mark(texts: Sequence[str]) -> str:
    """A character that is in none of the texts, a private-use one if possible."""
    used = set().union(*texts)
    return next(chr(code) for code in range(0xE000, sys.maxunicode) if chr(code) not in used)


@dataclass(frozen=True, slots=True)
class Fitted:
    """The ids of a prompt that fits, its messages, and how many of the oldest turns were dropped.

    `prediction` has the ids of a text that the answer will probably repeat.
    """

    tokens: list[int]
    messages: Sequence[Message]
    dropped: int
    prediction: Sequence[int] = ()

    @property
    def request(self) -> str:
        """The user's last message, empty if there is none."""
        return next((message.content for message in reversed(self.messages) if message.role == "user"), "")

    def notice(self, capacity: int) -> str:
        """The message for the user if turns were dropped."""
        turns = "the oldest turn" if self.dropped == 1 else f"the {self.dropped} oldest turns"
        return f"dropped {turns} to fit the context of {capacity} tokens"


def fit(messages: Sequence[Message], encoded: Callable[[Sequence[Message]], list[int]], capacity: int) -> Fitted:
    """Drops whole turns from the front until the prompt leaves room for an answer; system messages always stay.

    Raises ContextOverflowError if the last message alone is too long.
    """
    reserve = min(256, capacity // 4)
    kept = list(messages)
    dropped = 0
    while True:
        tokens = encoded(kept)
        starts = [place for place, message in enumerate(kept) if message.role == "user"]
        if len(tokens) <= capacity - reserve:
            return Fitted(tokens, kept, dropped)
        if len(starts) < 2:
            break
        kept = [message for place, message in enumerate(kept) if message.role == "system" or place >= starts[1]]
        dropped += 1
    if len(tokens) < capacity:
        return Fitted(tokens, kept, dropped)
    raise ContextOverflowError(
        f"the message makes a prompt of {len(tokens)} tokens, the context holds {capacity}: "
        "shorten it or load with a larger -c"
    )


def common_prefix(old: Sequence[int], new: Sequence[int]) -> int:
    """The length of the longest common prefix."""
    length = min(len(old), len(new))
    return next((place for place in range(length) if old[place] != new[place]), length)
