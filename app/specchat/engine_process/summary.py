"""A summary of a conversation's oldest turns, written by the target itself when the context is nearly full.

The latest question and the exchange before it stay as they are. The summary is part of the system message from then on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from specchat.engine_process.protocol import ChatMessage
from specchat_engine.answers.parser import parse_answer
from specchat_engine.errors import ContextOverflowError
from specchat_engine.prompt.messages import Message, Prompt
from specchat_engine.sampling.params import SamplingParams

if TYPE_CHECKING:
    from specchat_engine.session import Session  # it needs numpy, which the chat does not load before its first frame

_KEPT = 2
"""The latest turns, which are not summarised."""

_LONGEST = 512
"""Tokens of a summary; in a small context an eighth of it."""

_REQUEST = (
    "Summarise our conversation so far, so that it can go on from your summary alone. Keep names, numbers, decisions, "
    "open questions, and code that is still needed. Use the language of the conversation. Write the summary only."
)
_HEADING = "Summary of the conversation so far:"


def with_summary(system: str | None, summary: str) -> str:
    """The system message of a conversation whose earlier turns are summarised."""
    return f"{system}\n\n{_HEADING}\n{summary}" if system else f"{_HEADING}\n{summary}"


def split(messages: Sequence[ChatMessage]) -> tuple[tuple[ChatMessage, ...], tuple[ChatMessage, ...]]:
    """The turns to summarise, and the latest ones, both without the system message. The former may be empty."""
    turns = tuple(message for message in messages if message.role != "system")
    questions = [index for index, message in enumerate(turns) if message.role == "user"]
    begin = questions[-_KEPT] if len(questions) > _KEPT else 0
    return turns[:begin], turns[begin:]


def system_of(messages: Sequence[ChatMessage]) -> str | None:
    """The text of the system message, if there is one."""
    return messages[0].content if messages and messages[0].role == "system" else None


def write_summary(session: Session, older: Sequence[ChatMessage], system: str | None, stop: Callable[[], bool]) -> str:
    """The target's summary of these turns, without its thoughts; empty if it wrote none or was stopped.

    It is empty, too, if the context has no room for the request. The session's settings are other ones afterwards.
    Raises EngineError.
    """
    capacity, answer_format = session.pair.target.capacity, session.pair.answer_format
    session.settings = replace(
        session.settings,
        sampling=SamplingParams(temperature=0.0),
        max_tokens=min(_LONGEST, capacity // 8),
        thinking="off",
        context_full="drop",
    )
    session.hold = lambda: session.cancel() if stop() else None
    session.watch = None
    begin = [Message("system", system)] if system else []
    request = [*begin, *(message.for_engine() for message in older), Message("user", _REQUEST)]
    try:
        for _ in session.answer(Prompt(request, shown=answer_format.reasoning_marks), len(older)):
            pass
    except ContextOverflowError:
        return ""
    if stop():
        return ""
    return parse_answer(session.text, answer_format, thinking=session.opens_reasoning).content.strip()
