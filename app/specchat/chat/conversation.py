"""A conversation as a tree: editing a message or asking for another answer begins a branch, and nothing is lost.

What is said is a path from a first message to the `head`. Messages are frozen; a change puts another one in the place
of the first.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from specchat.store.records import State, StoredMessage, StoredSession, new_id, newest_leaf, path_to, siblings
from specchat.worker.protocol import ChatMessage

_TITLE_LENGTH = 60


class Conversation:
    """The messages of one session, and which of them are said now."""

    def __init__(self, session: StoredSession, messages: Iterable[StoredMessage] = ()) -> None:
        self.session = session
        self._messages: dict[int, StoredMessage] = {message.id: message for message in messages}

    @property
    def id(self) -> int:
        """The session's id."""
        return self.session.id

    @property
    def head(self) -> int | None:
        """The message at the end of what is said."""
        return self.session.head

    @property
    def empty(self) -> bool:
        """Whether nothing was said yet, in any branch."""
        return not self._messages

    def path(self) -> list[StoredMessage]:
        """What is said, from the first message on."""
        return path_to([*self._messages.values()], self.head)

    def message(self, message: int) -> StoredMessage:
        """One message. Raises KeyError where there is none of that id."""
        return self._messages[message]

    def holds(self, message: int) -> bool:
        """Whether there is such a message."""
        return message in self._messages

    def before(self, message: int) -> list[StoredMessage]:
        """What was said when this message was written, without it."""
        return path_to([*self._messages.values()], self._messages[message].parent)

    def asked(self, answer: int | None = None) -> tuple[ChatMessage, ...]:
        """What the model is asked: the system prompt and what is said, or what was said before this answer.

        An answer without a word is among it: many templates refuse two messages of the user in a row.
        """
        said = self.path() if answer is None else self.before(answer)
        system = [ChatMessage("system", self.session.system)] if self.session.system else []
        return (*system, *map(chat_message, said))

    def place(self, message: int) -> tuple[int, int]:
        """Which of the branches at a message it is, counted from 1, and how many there are."""
        beside = [node.id for node in siblings([*self._messages.values()], message)]
        return beside.index(message) + 1, len(beside)

    def ask(self, text: str) -> StoredMessage:
        """The user says something more."""
        return self._add(StoredMessage(new_id(), self.id, self.head, "user", text))

    def edit(self, message: int, text: str) -> StoredMessage:
        """The user says this in place of an earlier message, whose branch stays."""
        return self._add(StoredMessage(new_id(), self.id, self._messages[message].parent, "user", text))

    def begin_answer(self) -> StoredMessage:
        """An answer to what is said begins. Its noise is that of the turn, and of an attempt that is new here."""
        said = self.path()
        turn = max(sum(message.role == "user" for message in said) - 1, 0)
        beside = (node for node in self._messages.values() if node.parent == self.head and node.role == "assistant")
        attempt = max((node.attempt + 1 for node in beside), default=0)
        return self._add(
            StoredMessage(
                new_id(), self.id, self.head, "assistant", "", state=State.STREAMING, turn=turn, attempt=attempt
            )
        )

    def has_answers(self, message: int) -> bool:
        """Whether anything hangs at this message."""
        return any(node.parent == message for node in self._messages.values())

    def put(self, message: StoredMessage) -> StoredMessage:
        """This in the place of what had its id."""
        self._messages[message.id] = message
        return message

    def drop(self, message: int) -> None:
        """Takes a message out at which nothing hangs; what was said before it is said now."""
        gone = self._messages.pop(message)
        if self.head == message:
            self._show(gone.parent)

    def rewind_to(self, message: int | None) -> None:
        """What is said ends with this message; another may be said in place of what followed."""
        self._show(message)

    def show_newest(self) -> None:
        """What is said goes on to the end of the branch that was added last."""
        if self.head is not None:
            self._show(newest_leaf([*self._messages.values()], self.head))

    def switch(self, message: int, steps: int) -> bool:
        """Shows the branch beside this message's, round and round; False where there is no other."""
        beside = [node.id for node in siblings([*self._messages.values()], message)]
        if len(beside) < 2:
            return False
        other = beside[(beside.index(message) + steps) % len(beside)]
        self._show(newest_leaf([*self._messages.values()], other))
        return True

    def copy(self) -> Conversation:
        """What is said, as a session of its own; the branches stay behind."""
        session = replace(self.session, id=new_id(), created=time.time(), updated=0.0, head=None)
        copy = Conversation(session)
        for message in self.path():
            copy._add(replace(message, id=new_id(), session=session.id, parent=copy.head))
        return copy

    def change(self, **changes: object) -> StoredSession:
        """Another title, system prompt, seed, pair or settings."""
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
    """A message as the engine is asked with it."""
    return ChatMessage("assistant" if message.role == "assistant" else "user", message.content)


def title_of(text: str) -> str:
    """A session's first title: the beginning of its first message, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= _TITLE_LENGTH else line[: _TITLE_LENGTH - 1].rstrip() + "…"
