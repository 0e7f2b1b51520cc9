"""Leaves out what a server does not take: the oldest messages, or earlier images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Final

from specchat.engine_process.images import last_question, without_images
from specchat.engine_process.protocol import ChatMessage

_IMAGE: Final = 4000
"""An image counts as so many characters: it has as many tokens as a text of that length, give or take a factor."""


def shortened(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...] | None:
    """The conversation without the older half of its text and images; None if only its last question is left.

    The system message stays. What is left begins with a message of the user.
    """
    system = tuple(message for message in messages[:1] if message.role == "system")
    exchanged = messages[len(system) :]
    before = [0, *accumulate(len(message.content) + _IMAGE * len(message.images) for message in exchanged)]
    questions = [index for index, message in enumerate(exchanged) if index and message.role == "user"]
    if not questions:
        return None
    begin = next((index for index in questions if 2 * before[index] >= before[-1]), questions[-1])
    return (*system, *exchanged[begin:])


def without_earlier_images(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...] | None:
    """The conversation with sentences in place of its images; None if it has none, or if the last question is about
    one."""
    last = last_question(messages)
    shown = [index for index, message in enumerate(messages) if message.images]
    if not shown or last in shown:
        return None
    return tuple(replace(each, content=without_images(each.content, len(each.images)), images=()) for each in messages)
