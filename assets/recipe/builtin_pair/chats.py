"""The data structures of the corpus: chats, held-out exercises, and the text around the turns of a chat."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from random import Random
from typing import Literal

Kind = Literal["copy", "facts", "python", "structured", "story", "other"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of the user and the answer that the model should give, after what the template has `begun` it with."""

    user: str
    assistant: str
    begun: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """A conversation of one kind. `system` is the system prompt, if there is one."""

    kind: Kind
    turns: tuple[Turn, ...]
    system: str | None = None


@dataclass(frozen=True, slots=True)
class HeldOut:
    """A prompt that no template of the corpus makes, and the expected answer.

    It is the only right answer for copies, and an example for stories.
    """

    kind: Kind
    prompt: str
    expected: str


ChatSource = Callable[[Random], Iterator[Chat]]
"""Yields chats endlessly. The given random generator is the only source of randomness."""


def single(kind: Kind, user: str, assistant: str) -> Chat:
    """A chat of one turn."""
    return Chat(kind, (Turn(user, assistant),))


VOCABULARY_SIZE = 4096
SPECIALS = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
END_OF_TEXT_ID, START_ID, END_ID, FIRST_PLAIN_ID = range(4)

CHAT_TEMPLATE = (
    "{%- for message in messages -%}"
    "{{- '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' -}}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\\n' -}}{%- endif -%}"
)
"""The same text as `pieces` in Jinja, for the GGUF."""


def pieces(chat: Chat) -> list[tuple[str, bool]]:
    """The text of a chat in parts, each with whether the model learns it."""
    parts: list[tuple[str, bool]] = []
    lead = "" if chat.system is None else f"<|im_start|>system\n{chat.system}<|im_end|>\n"
    for turn in chat.turns:
        parts.append((f"{lead}<|im_start|>user\n{turn.user}<|im_end|>\n<|im_start|>assistant\n{turn.begun}", False))
        parts.append((f"{turn.assistant}<|im_end|>", True))
        lead = "\n"
    return parts
