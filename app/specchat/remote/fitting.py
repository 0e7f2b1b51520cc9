"""Leaves out the oldest messages of a conversation that does not fit the server's context."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from specchat.worker.protocol import ChatMessage


def shortened(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...] | None:
    """The conversation without the older half of its text; None if only its last question is left.

    The system message stays. What is left begins with a message of the user.
    """
    system = tuple(message for message in messages[:1] if message.role == "system")
    said = messages[len(system) :]
    before = [0, *accumulate(len(message.content) for message in said)]
    questions = [place for place, message in enumerate(said) if place and message.role == "user"]
    if not questions:
        return None
    begin = next((place for place in questions if 2 * before[place] >= before[-1]), questions[-1])
    return (*system, *said[begin:])
