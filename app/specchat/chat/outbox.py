"""What goes out later: messages that wait for the end of an answer."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.chat.history import Entry


@dataclass(frozen=True, slots=True)
class QueuedMessage:
    """A message for the model, the text that the transcript shows, and what was typed."""

    text: str
    shown: str
    entry: Entry


class Outbox:
    """Messages in the order in which they will be sent. A `held` queue waits for the user."""

    def __init__(self) -> None:
        self._messages: list[QueuedMessage] = []
        self._held = False

    @property
    def messages(self) -> tuple[QueuedMessage, ...]:
        """The messages, the next one first."""
        return tuple(self._messages)

    @property
    def held(self) -> bool:
        """Whether the messages wait for the user, because an answer was stopped or failed."""
        return self._held

    def add(self, message: QueuedMessage) -> None:
        """Adds a message at the end."""
        self._messages.append(message)

    def next(self) -> QueuedMessage | None:
        """Removes and returns the first message; None if there is none. The queue is no longer held."""
        self._held = False
        return self._messages.pop(0) if self._messages else None

    def take_back(self) -> QueuedMessage | None:
        """Removes and returns the last message; None if there is none."""
        message = self._messages.pop() if self._messages else None
        self._held &= bool(self._messages)
        return message

    def hold(self) -> None:
        """Keeps the messages that there are until the user sends them."""
        self._held = bool(self._messages)

    def clear(self) -> int:
        """Removes all messages and returns how many there were."""
        count = len(self._messages)
        self._messages, self._held = [], False
        return count
