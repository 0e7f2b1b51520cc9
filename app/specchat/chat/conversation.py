"""A conversation as a tree: editing a message or asking for another answer adds a branch, and nothing is lost.

The visible branch is the path from a first message to the `head`. Messages are frozen; a change replaces a message.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from specchat.engine_process.protocol import ChatMessage
from specchat.engine_process.summary import with_summary
from specchat.store.images import StoredImage
from specchat.store.records import State, StoredMessage, StoredSession, ToolUse, new_id, newest_leaf, path_to, siblings
from specchat_engine.prompt.messages import ToolCall

_TITLE_LENGTH = 60


class Conversation:
    """The messages of one session, and the branch that is visible."""

    def __init__(self, session: StoredSession, messages: Iterable[StoredMessage] = ()) -> None:
        self.session = session
        self._messages: dict[int, StoredMessage] = {message.id: message for message in messages}

    @property
    def id(self) -> int:
        """The session's id."""
        return self.session.id

    @property
    def head(self) -> int | None:
        """The last message of the visible branch."""
        return self.session.head

    @property
    def empty(self) -> bool:
        """True if there are no messages in any branch."""
        return not self._messages

    def path(self) -> list[StoredMessage]:
        """The visible branch, from its first message on."""
        return path_to([*self._messages.values()], self.head)

    def last(self, role: str) -> StoredMessage | None:
        """The last message of a role in the visible branch; None if there is none."""
        return next((message for message in reversed(self.path()) if message.role == role), None)

    def message(self, message: int) -> StoredMessage:
        """One message. Raises KeyError if there is none with that id."""
        return self._messages[message]

    def holds(self, message: int) -> bool:
        """True if there is such a message."""
        return message in self._messages

    def before(self, message: int) -> list[StoredMessage]:
        """The messages before this one in its branch."""
        return path_to([*self._messages.values()], self._messages[message].parent)

    def asked(self, answer: int | None = None) -> tuple[ChatMessage, ...]:
        """The messages for the model: the system prompt and the visible branch, or what came before this answer.

        What is summarised is replaced by the last summary, in the system prompt. Empty answers are included, since many
        templates reject two user messages in a row.
        """
        summary, messages = _since_summary(self.path() if answer is None else self.before(answer))
        system = self.session.system if summary is None else with_summary(self.session.system, summary)
        begin = [ChatMessage("system", system)] if system else []
        return (*begin, *map(chat_message, messages))

    def summarise(self, answer: int, num_messages: int, summary: str) -> StoredMessage | None:
        """Replaces the first messages that the model was to read for this answer by a summary of them.

        Returns the message that holds it from now on; None if there are fewer messages.
        """
        _, messages = _since_summary(self.before(answer))
        if not 0 < num_messages <= len(messages):
            return None
        return self.put(replace(messages[num_messages - 1], summary=summary))

    def place(self, message: int) -> tuple[int, int]:
        """The number of this message among its siblings, from 1, and how many there are."""
        beside = [node.id for node in siblings([*self._messages.values()], message)]
        return beside.index(message) + 1, len(beside)

    def ask(self, text: str, images: tuple[StoredImage, ...] = ()) -> StoredMessage:
        """Adds a message of the user."""
        return self._add(StoredMessage(new_id(), self.id, self.head, "user", text, images=images))

    def edit(self, message: int, text: str, images: tuple[StoredImage, ...] = ()) -> StoredMessage:
        """Adds an edited version of an earlier message of the user as a new branch."""
        parent = self._messages[message].parent
        return self._add(StoredMessage(new_id(), self.id, parent, "user", text, images=images))

    def add_result(self, call: ToolCall, result: str, *, failed: bool = False, seconds: float = 0.0) -> StoredMessage:
        """Adds what a call of the last answer returned, and how long it took."""
        of = ToolUse((), call.id, call.name, failed, round(seconds, 3))
        return self._add(StoredMessage(new_id(), self.id, self.head, "tool", result, tools=of))

    def close_calls(self) -> list[StoredMessage]:
        """Adds a result to each call of the last answer that has none, because it was left before it was made.

        Without them, many templates refuse the next message.
        """
        answered: set[str] = set()
        for message in reversed(self.path()):
            use = message.tools or ToolUse()
            if message.role != "tool":
                left = [call for call in use.calls if call.id not in answered]
                return [self.add_result(call, "this call was not made", failed=True) for call in left]
            answered.add(use.call_id)
        return []

    def arguments_of(self, result: int) -> str:
        """The arguments of the call that a message of the role "tool" is the result of; empty if it is not known."""
        use = self._messages[result].tools or ToolUse()
        before = (message.tools for message in reversed(self.before(result)) if message.tools)
        calls = (call for tools in before for call in tools.calls)
        return next((call.arguments for call in calls if call.id == use.call_id), "")

    def begin_answer(self) -> StoredMessage:
        """Adds an empty answer. Its noise is that of the turn and of a new attempt. A result counts as a turn."""
        branch = self.path()
        turn = max(sum(message.role in ("user", "tool") for message in branch) - 1, 0)
        beside = (node for node in self._messages.values() if node.parent == self.head and node.role == "assistant")
        attempt = max((node.attempt + 1 for node in beside), default=0)
        return self._add(
            StoredMessage(
                new_id(), self.id, self.head, "assistant", "", state=State.STREAMING, turn=turn, attempt=attempt
            )
        )

    def has_answers(self, message: int) -> bool:
        """True if this message has replies."""
        return any(node.parent == message for node in self._messages.values())

    def put(self, message: StoredMessage) -> StoredMessage:
        """Replaces the message with the same id."""
        self._messages[message.id] = message
        return message

    def drop(self, message: int) -> None:
        """Removes a message without replies. If it was the head, its parent becomes the head."""
        gone = self._messages.pop(message)
        if self.head == message:
            self._show(gone.parent)

    def rewind_to(self, message: int | None) -> None:
        """Makes this message the head, so that another may follow it."""
        self._show(message)

    def show_newest(self) -> None:
        """Moves the head to the end of the newest branch after it."""
        if self.head is not None:
            self._show(newest_leaf([*self._messages.values()], self.head))

    def switch(self, message: int, steps: int) -> bool:
        """Shows another branch at this message, cyclically. Returns False if there is no other."""
        beside = [node.id for node in siblings([*self._messages.values()], message)]
        if len(beside) < 2:
            return False
        other = beside[(beside.index(message) + steps) % len(beside)]
        self._show(newest_leaf([*self._messages.values()], other))
        return True

    def copy(self) -> Conversation:
        """The visible branch as a new session, without other branches."""
        session = replace(self.session, id=new_id(), created=time.time(), updated=0.0, head=None)
        copy = Conversation(session)
        for message in self.path():
            copy._add(replace(message, id=new_id(), session=session.id, parent=copy.head))
        return copy

    def change(self, **changes: object) -> StoredSession:
        """Changes the title, tags, system prompt, seed, pair or settings."""
        values: Mapping[str, object] = changes
        self.session = replace(self.session, **values)  # type: ignore[arg-type]
        return self.session

    def _add(self, message: StoredMessage) -> StoredMessage:
        self._messages[message.id] = message
        self._show(message.id)
        return message

    def _show(self, head: int | None) -> None:
        self.session = replace(self.session, head=head)


def chat_message(message: StoredMessage) -> ChatMessage:
    """A message in the form that the engine's process takes."""
    images = tuple(str(image.path) for image in message.images)
    return replace(ChatMessage.of(message.to_message()), images=images)


def _since_summary(branch: list[StoredMessage]) -> tuple[str | None, list[StoredMessage]]:
    """The last summary in a branch, and the messages after it."""
    for length in range(len(branch), 0, -1):
        if (summary := branch[length - 1].summary) is not None:
            return summary, branch[length:]
    return None, branch


def title_of(text: str) -> str:
    """The initial title of a session: the beginning of its first message, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"
