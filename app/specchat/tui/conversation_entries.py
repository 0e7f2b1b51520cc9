"""A stored conversation as entries of the transcript."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from specchat.chat.conversation import Conversation
from specchat.stats.endings import ending_in
from specchat.store.records import StoredMessage
from specchat.tui.transcript.answer import Answer
from specchat.tui.transcript.entries import Entry, Siblings, UserMessage
from specchat_engine.decoding.rounds import Round


def entries_of(conversation: Conversation, name: str, rounds: Callable[[int], Sequence[Round]]) -> list[Entry]:
    """What is said, each message with its place among its branches; `rounds` finds how an answer was made."""
    return [_entry(conversation, message, name, rounds) for message in conversation.path()]


def _entry(
    conversation: Conversation, message: StoredMessage, name: str, rounds: Callable[[int], Sequence[Round]]
) -> Entry:
    siblings = Siblings(*conversation.place(message.id))
    if message.role != "assistant":
        return UserMessage(message.content, key=message.id, siblings=siblings)
    return Answer.stored(
        name,
        message.content,
        message.figures or ending_in(message.state),
        trace=partial(rounds, message.id),
        key=message.id,
        siblings=siblings,
    )
