"""What the chat knows at one moment: all parts of the screen share one of these."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.chat.archive import Archive
from specchat.chat.session import ChatSession, Unsent
from specchat.store.records import StoredMessage
from specchat.tui.screens.chat.running_turn import RunningTurn
from specchat.tui.transcript.answer import View
from specchat_engine.settings import Settings


@dataclass(slots=True)
class ChatState:
    """The conversation, the answer that is being written, and what waits to be sent.

    `waiting` is a message that is sent when the models are loaded. `editing` is the id of the message that the next
    one replaces. `live_view` is how answers are shown while they stream. `frozen` is true in step mode.
    """

    session: ChatSession
    archive: Archive
    turn: RunningTurn | None = None
    waiting: Unsent | None = None
    editing: int | None = None
    live_view: View = View.TRACE
    frozen: bool = False

    @property
    def settings(self) -> Settings | None:
        """The settings in force; None until a pair is loaded."""
        return self.session.settings

    @property
    def last_answer(self) -> StoredMessage | None:
        """The last answer of the conversation that is shown."""
        return self._last("assistant")

    @property
    def last_question(self) -> StoredMessage | None:
        """The user's last message."""
        return self._last("user")

    def is_running(self, answer: int) -> bool:
        """Whether the answer with this id is still being written."""
        return self.turn is not None and self.turn.message.id == answer

    def _last(self, role: str) -> StoredMessage | None:
        found = [message for message in self.session.conversation.path() if message.role == role]
        return found[-1] if found else None
