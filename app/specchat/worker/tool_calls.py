"""Conversations with tools as the engine takes them, and the calls in its answers as the application takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from specchat.worker.images import messages_of
from specchat.worker.protocol import ChatMessage, Generate, Offer, call_id
from specchat_engine import Prompt, Session
from specchat_engine.answers.parser import parse_answer
from specchat_engine.pair import Pair
from specchat_engine.prompt.messages import ToolCall

_WHOLE = frozenset(("end", "stop"))
"""How answers end that may have calls. In one that was cut short the arguments may be incomplete."""


@dataclass(frozen=True, slots=True)
class Called:
    """The calls of an answer, and what it says beside them; both are empty without calls."""

    calls: tuple[ToolCall, ...] = ()
    content: str = ""


def prompt_of(pair: Pair, messages: Sequence[ChatMessage], tools: Offer) -> Prompt:
    """The prompt of a conversation. Raises SettingError if it asks about an image, and the target sees none.

    The marks of thoughts are part of the answer's text, since the chat folds thoughts. If there are tools, so are all
    others that the parser of answers looks for.
    """
    shown = pair.answer_format.marks if tools.functions else pair.answer_format.reasoning_marks
    return Prompt(messages_of(messages, pair.blind_because), tools.functions, shown=shown)


def called(session: Session, command: Generate) -> Called:
    """The calls in the session's last answer. Their ids differ within the turns of a seed."""
    functions, answer_format = command.tools.functions, session.pair.answer_format
    if not functions or session.end_reason not in _WHOLE:
        return Called()
    answer = parse_answer(session.text, answer_format, functions, thinking=session.opens_reasoning)
    if not answer.tool_calls:
        return Called()
    numbered = enumerate(answer.tool_calls)
    calls = tuple(replace(call, id=call_id(command.turn, number)) for number, call in numbered)
    return Called(calls, answer.without_calls(answer_format.thinking))
