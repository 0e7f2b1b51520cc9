"""Messages that are sent while an answer streams: they wait for its end, and go out in order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from specchat.chat.outbox import QueuedMessage, named_output
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView


class Queue:
    """Sends a message at once if nothing is answered, else when its turn comes.

    An answer that was stopped or that failed holds the queue, until Enter in an empty prompt sends it.
    """

    def __init__(self, state: ChatState, view: ChatView, turns: TurnRunner, on_change: Callable[[], None]) -> None:
        """`on_change` is called when other keys work."""
        self._state = state
        self._view = view
        self._turns = turns
        self._on_change = on_change

    @property
    def can_take_back(self) -> bool:
        """Whether there is a message or an output to take back, and room for it in the prompt."""
        outbox = self._state.outbox
        return bool(outbox.messages or outbox.outputs) and not self._view.prompt.text

    def submit(self, message: QueuedMessage) -> None:
        """Takes a message from the prompt, or the new text of an answer, which does not wait for others."""
        state = self._state
        if self._turns.edits_answer:
            if not self._view.is_busy():
                self._view.prompt.taken()
                self._turns.go_on_with(message.text)
            return
        self._view.note("")
        message = replace(message, outputs=state.outbox.take_outputs())
        self._view.prompt.taken()
        if not state.busy:
            self._send(message)
        else:
            state.outbox.add(message)
        self._show()

    def answered(self) -> None:
        """Sends the first message after an answer, unless the queue is held."""
        if not self._state.outbox.held:
            self.send_next()

    def send_next(self) -> None:
        """Sends the first message; the others follow after its answer."""
        message = self._state.outbox.next()
        if message is not None:
            self._send(message)
        self._show()

    def hold(self) -> None:
        """Keeps the messages until the user sends them."""
        self._state.outbox.hold()
        self._show()

    def take_back(self) -> None:
        """Puts the last message back into the prompt, where it can be changed, sent again, or deleted."""
        message = self._state.outbox.take_back()
        if message is not None:
            self._view.prompt.recall(message.entry)
        self._show()

    def leave(self) -> None:
        """Takes the last message back, else removes the last output from the next message."""
        if self._state.outbox.messages:
            self.take_back()
        elif (output := self._state.outbox.drop_output()) is not None:
            self._view.note(f"not sent: {named_output(output)}")
            self._show()

    def press(self, key: str) -> bool:
        """Does what a key does that an empty prompt leaves to the queue. Returns False for another key."""
        outbox = self._state.outbox
        if key == "up" and outbox.messages:
            self.take_back()
        elif key == "enter" and outbox.held and not self._state.busy:
            self.send_next()
        else:
            return False
        return True

    def _send(self, message: QueuedMessage) -> None:
        self._state.sent = message
        self._turns.send(message.text, message.shown, message.images)

    def _show(self) -> None:
        self._view.show_outbox()
        self._on_change()
