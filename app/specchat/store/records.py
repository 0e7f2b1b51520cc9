"""Stored sessions and messages as the rest of the application sees them. The messages of a session form a tree."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from random import SystemRandom
from typing import Any, overload

from specchat.store.images import StoredImage
from specchat_engine.prompt.messages import Message, ToolCall


class State(StrEnum):
    """Whether a message is complete, and if not, why."""

    WHOLE = "whole"
    STREAMING = "streaming"
    STOPPED = "stopped"
    """The user stopped the answer."""
    CUT = "cut"
    """The application ended while it was writing the answer."""


def new_id() -> int:
    """An id for a session or a message: 63 random bits, so that no database access is needed."""
    return SystemRandom().getrandbits(63)


def new_seed() -> int:
    """A seed for a session without one: 31 random bits."""
    return SystemRandom().getrandbits(31)


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A conversation, without its messages. Times are seconds since the epoch.

    `head` is the last message of the branch that is shown. `num_messages` counts all branches. `preview` is the
    beginning of the newest message that is not empty, on one line. The store itself maintains the last two. `tags` are
    in the order of the alphabet.
    """

    id: int
    title: str = ""
    created: float = field(default_factory=time.time)
    updated: float = 0.0
    system: str | None = None
    seed: int | None = None
    target: str | None = None
    draft: str | None = None
    settings: Mapping[str, Any] | None = None
    head: int | None = None
    num_messages: int = 0
    preview: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The `calls` of an answer, or what a message of the role "tool" is the result of: the id of a call, and the `name`
    of a function. A result that `failed` says why. `seconds` is how long the call took, 0 if it was not made.
    """

    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    name: str = ""
    failed: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A node of a session's tree. The first message has no parent; messages with the same parent are branches.

    `turn` and `attempt` are what an answer's seed was derived from. `figures` is the line of figures under an answer.
    `summary` stands for the branch up to this message in what the model reads.
    `tools` is set for answers that call tools, and for results. `images` are those that a message of the user shows.
    """

    id: int
    session: int
    parent: int | None
    role: str
    content: str
    created: float = field(default_factory=time.time)
    state: State = State.WHOLE
    turn: int | None = None
    attempt: int = 0
    figures: str | None = None
    summary: str | None = None
    tools: ToolUse | None = None
    images: tuple[StoredImage, ...] = ()

    def to_message(self) -> Message:
        """The message as the engine takes it, without its images."""
        use = self.tools or ToolUse()
        match self.role:
            case "assistant":
                return Message("assistant", self.content, use.calls)
            case "tool":
                return Message("tool", self.content, tool_call_id=use.call_id, name=use.name)
        return Message("user", self.content)


def path_to(messages: Sequence[StoredMessage], head: int | None) -> list[StoredMessage]:
    """The branch from its first message to `head`; empty if there is no such message."""
    by_id = {message.id: message for message in messages}
    path: list[StoredMessage] = []
    here = head
    while here is not None and (message := by_id.pop(here, None)) is not None:
        path.append(message)
        here = message.parent
    return path[::-1]


def siblings(messages: Sequence[StoredMessage], message: int) -> list[StoredMessage]:
    """This message and the others with the same parent and role, in the order in which they were added.

    An edited question is a sibling of the original, and a new attempt is a sibling of the earlier answer. "2/3" gives a
    message's place in this list and the length of the list. Empty if there is no such message.
    """
    this = next((node for node in messages if node.id == message), None)
    if this is None:
        return []
    return [node for node in messages if node.parent == this.parent and node.role == this.role]


def newest_leaf(messages: Sequence[StoredMessage], message: int) -> int:
    """The last message of the branch through `message` that follows the newest child of each node."""
    newest: dict[int | None, int] = {node.parent: node.id for node in messages}
    while message in newest:
        message = newest[message]
    return message


PREVIEW_LENGTH = 120


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: None) -> None: ...
def storable(text: str | None) -> str | None:
    """The text with lone surrogates, which UTF-8 cannot encode, replaced by U+FFFD."""
    if text is None:
        return None
    try:
        text.encode()
    except UnicodeEncodeError:
        return "".join("\ufffd" if "\ud800" <= character <= "\udfff" else character for character in text)
    return text


def preview_of(content: str) -> str:
    """The beginning of a text on one line. It is not filtered for a terminal, like everything stored."""
    return " ".join(content[: 4 * PREVIEW_LENGTH].split())[:PREVIEW_LENGTH]
