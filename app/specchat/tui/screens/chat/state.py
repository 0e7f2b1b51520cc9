"""The state of the chat, shared by all parts of the screen."""

from __future__ import annotations

from dataclasses import dataclass, field

from specchat.chat.controller import ChatController
from specchat.chat.outbox import Outbox, QueuedMessage
from specchat.chat.turn import RunningTurn
from specchat.store.records import StoredMessage
from specchat.tui.transcript.answer import TranscriptAnswer, View


@dataclass(slots=True)
class ChatState(ChatController):
    """The conversation, the answer that is being written, and what waits to be sent.

    `waiting` is an empty answer that begins when the models are loaded. `editing` is the id of the message that the
    next one replaces. `live_view` is how answers are shown while they stream. `frozen` is true in step mode.
    """

    turn: RunningTurn[TranscriptAnswer] | None = None
    waiting: StoredMessage | None = None
    editing: int | None = None
    live_view: View = View.TRACE
    frozen: bool = False
    calling: bool = False
    """Whether the calls of the last answer are made."""
    commands_allowed: bool = False
    """Whether shell commands run in this conversation without asking again."""
    docs_offer: tuple[int, str] | None = None
    """The id of an answer in which the guide said that it does not know, and the words to search the docs for."""
    sent: QueuedMessage | None = None
    """The message that was sent last, as it was typed."""
    outbox: Outbox = field(default_factory=Outbox)
    """What is sent after the answer that is being written."""

    @property
    def busy(self) -> bool:
        """Whether the last message is being answered, waits for the models, or waits for calls of tools."""
        return self.turn is not None or self.waiting is not None or self.calling

    @property
    def docs_search(self) -> str:
        """The words that F1 searches the docs for; empty unless the last answer offered that."""
        last = self.last_answer
        return self.docs_offer[1] if self.docs_offer and last and last.id == self.docs_offer[0] else ""

    def take_back(self) -> str | None:
        """Removes the message that waits for the models from the conversation, and returns its text."""
        waiting, self.waiting = self.waiting, None
        if waiting is None or waiting.parent is None:
            return None
        conversation = self.session.conversation
        question = conversation.message(waiting.parent)
        for message in (waiting.id, question.id):
            conversation.drop(message)
            self.archive.unsaid([message])
        self.archive.changed(conversation.session)
        return question.content

    def is_running(self, answer: int) -> bool:
        """Whether the answer with this id is still being written."""
        return self.turn is not None and self.turn.message.id == answer
