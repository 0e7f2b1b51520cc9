"""What a chat template demands of a conversation, and how a conversation is rewritten to meet it.

Clients send several system messages, messages of one role in a row, several calls at once, and ids of any form. Some
templates refuse these, and others leave out what they do not expect. Probes show which: a template takes a shape if all
texts of it are in the prompt. What a template takes stays as it is.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from itertools import takewhile
from typing import Final

from specchat_engine.prompt.messages import Message, Role, ToolCall

Probe = Callable[[Sequence[Message]], str | None]
"""Returns the prompt of a conversation, None if the template fails."""

_ALPHANUMERIC: Final = string.ascii_letters + string.digits
_NINE: Final = re.compile(r"[a-zA-Z0-9]{9}")
_IDS: Final = ("call00001", "call00002")
"""Ids that every template takes. Mistral's demand nine letters or digits."""


def _said(*roles: Role) -> list[Message]:
    """A conversation with a text of its own in each message."""
    return [Message(role, f"text_{number}_of_a_probe") for number, role in enumerate(roles)]


def _called(*ids: str) -> list[Message]:
    """A question, calls with these ids, and their results."""
    calls = [ToolCall("f", f'{{"argument_{number}_of_a_probe": 1}}', name) for number, name in enumerate(ids)]
    results = [Message("tool", f"result_{number}_of_a_probe", (), name, "f") for number, name in enumerate(ids)]
    return [*_said("user"), Message("assistant", "", tuple(calls)), *results]


class Demands:
    """Rewrites conversations as one template demands. What that is, is found out when a conversation needs it."""

    def __init__(self, probe: Probe) -> None:
        self._probe = probe

    def met(self, messages: Sequence[Message]) -> list[Message]:
        """The conversation in a form that the template takes, as far as there is one. No text is left out."""
        rewritten = self._with_turns(self._with_one_system(_with_names(messages)))
        return self._with_ids(self._with_calls_apart(self._with_text_apart(rewritten)))

    def _takes(self, messages: Sequence[Message]) -> bool:
        """Whether all that the messages say is in their prompt."""
        prompt = self._probe(messages)
        calls = " ".join(call.arguments for message in messages for call in message.tool_calls)
        texts = (*(message.content for message in messages), *re.findall(r"\w+_of_a_probe", calls))
        return prompt is not None and all(text in prompt for text in texts)

    def _refuses(self, messages: Sequence[Message], usual: Sequence[Message]) -> bool:
        """Whether the template takes the usual shape and not this one."""
        return not self._takes(messages) and self._takes(usual)

    @cached_property
    def _refuses_system(self) -> bool:
        return self._refuses(_said("system", "user"), _said("user"))

    @cached_property
    def _refuses_system_alone(self) -> bool:
        return self._refuses(_said("system"), _said("user"))

    @cached_property
    def _refuses_system_before_answer(self) -> bool:
        return self._refuses(_said("system", "user", "assistant"), _said("user", "assistant"))

    @cached_property
    def _refuses_system_before_result(self) -> bool:
        return self._refuses([Message("system", "system_of_a_probe"), *_called(_IDS[0])], _called(_IDS[0]))

    def _refuses_first_system(self, messages: Sequence[Message]) -> bool:
        """Whether the system message is refused or left out at the beginning of such a conversation."""
        if all(map(_is_system, messages)):
            return self._refuses_system_alone
        match messages[-1].role:
            case "assistant":
                return self._refuses_system_before_answer
            case "tool":
                return self._refuses_system_before_result
        return self._refuses_system

    @cached_property
    def _refuses_systems(self) -> bool:
        return self._refuses(_said("system", "system", "user"), _said("system", "user"))

    @cached_property
    def _refuses_system_later(self) -> bool:
        talks: tuple[tuple[Role, ...], ...] = (
            ("user", "assistant", "system", "user"),
            ("system", "user", "assistant", "system", "user"),
            ("user", "assistant", "user", "system"),
        )
        return any(self._refuses(_said(*roles), _said(*_without_later_system(roles))) for roles in talks)

    @cached_property
    def _alternates(self) -> bool:
        """Whether a message of the user has to come first, and then every other message."""
        talks: tuple[tuple[Role, ...], ...] = (
            ("user", "user"),
            ("user", "assistant", "assistant", "user"),
            ("assistant", "user"),
        )
        return any(self._refuses(_said(*roles), _said("user")) for roles in talks)

    @cached_property
    def _refuses_user_after_result(self) -> bool:
        return self._refuses([*_called(_IDS[0]), Message("user", "question_of_a_probe")], _called(_IDS[0]))

    @cached_property
    def _refuses_calls_together(self) -> bool:
        return self._refuses(_called(*_IDS), _called(_IDS[0]))

    @cached_property
    def _refuses_text_with_calls(self) -> bool:
        """Whether the text beside a call is left out, and not if it is a message before the call."""
        question, call, result = _called(_IDS[0])
        _, text, *others = _said("user", "assistant", "assistant", "user")
        together = [question, replace(call, content=text.content), result, *others]
        return self._refuses(together, [question, text, call, result, *others])

    @cached_property
    def _refuses_ids(self) -> bool:
        return any(self._refuses(_called(name), _called(_IDS[0])) for name in ("call_of-a.probe", ""))

    def _with_one_system(self, messages: list[Message]) -> list[Message]:
        """Joins the system messages at the beginning, and gives to the user what may not stand where it does."""
        leading = len([*takewhile(_is_system, messages)])
        if leading > 1 and self._refuses_systems:
            messages, leading = [_joined(messages[:leading]), *messages[leading:]], 1
        refused = leading > 0 and self._refuses_first_system(messages)
        kept = 0 if refused else leading
        if any(map(_is_system, messages[kept:])) and (refused or self._refuses_system_later):
            return [*messages[:kept], *_given_to_user(messages[kept:])]
        return messages

    def _with_text_apart(self, messages: list[Message]) -> list[Message]:
        """Makes a message of the text beside calls."""
        if not any(message.tool_calls and message.content for message in messages) or not self._refuses_text_with_calls:
            return messages
        apart: list[Message] = []
        for message in messages:
            if message.tool_calls and message.content:
                apart.append(replace(message, tool_calls=()))
                message = replace(message, content="", reasoning_content="")
            apart.append(message)
        return apart

    def _with_calls_apart(self, messages: list[Message]) -> list[Message]:
        """Makes a message of each call, followed by its result."""
        if not any(len(message.tool_calls) > 1 for message in messages) or not self._refuses_calls_together:
            return messages
        apart: list[Message] = []
        for index, message in enumerate(messages):
            if message.role != "tool" or index == 0:
                results = [*takewhile(lambda after: after.role == "tool", messages[index + 1 :])]
                apart += _one_by_one(message, results)
        return apart

    def _with_turns(self, messages: list[Message]) -> list[Message]:
        """Joins neighbours of a role, and fills in what is missing between others."""
        turns: list[Message] = []
        for message in messages:
            last = turns[-1] if turns else None
            if last and last.role == message.role in ("user", "assistant") and not last.tool_calls and self._alternates:
                turns[-1] = _joined((last, message))
                continue
            if message.role == "assistant" and (last is None or last.role == "system") and self._alternates:
                turns.append(Message("user", ""))
            if message.role == "user" and last and last.role == "tool" and self._refuses_user_after_result:
                turns.append(Message("assistant", " "))
            turns.append(message)
        return turns

    def _with_ids(self, messages: list[Message]) -> list[Message]:
        """Gives calls and results ids of nine letters or digits. The same id always becomes the same one."""
        if not any(message.tool_calls or message.role == "tool" for message in messages) or not self._refuses_ids:
            return messages
        return [
            replace(
                message,
                tool_calls=tuple(replace(call, id=_nine(call.id)) for call in message.tool_calls),
                tool_call_id=_nine(message.tool_call_id) if message.role == "tool" else message.tool_call_id,
            )
            for message in messages
        ]


def _with_names(messages: Sequence[Message]) -> list[Message]:
    """Gives results the names of the functions that were called, which some templates show and few clients send."""
    names: dict[str, str] = {}
    named: list[Message] = []
    for message in messages:
        names |= {call.id: call.name for call in message.tool_calls if call.id}
        name = names.get(message.tool_call_id, "") if message.role == "tool" and not message.name else message.name
        named.append(replace(message, name=name))
    return named


def _is_system(message: Message) -> bool:
    return message.role == "system"


def _without_later_system(roles: tuple[Role, ...]) -> list[Role]:
    return [role for number, role in enumerate(roles) if role != "system" or not number]


def _joined(messages: Sequence[Message]) -> Message:
    """One message of all; the calls are those of the last."""
    content, reasoning = (
        "\n\n".join(filter(None, texts))
        for texts in zip(*((message.content, message.reasoning_content) for message in messages), strict=True)
    )
    images = tuple(image for message in messages for image in message.images)
    return replace(messages[-1], content=content, reasoning_content=reasoning, images=images)


def _given_to_user(messages: Iterable[Message]) -> list[Message]:
    """The system messages at the beginning of the user's next message, or in messages of the user."""
    given: list[Message] = []
    waiting: list[Message] = []
    for message in messages:
        if message.role == "system":
            waiting.append(replace(message, role="user"))
            continue
        if waiting and message.role == "user":
            message, waiting = _joined((*waiting, message)), []
        elif waiting and message.role == "assistant":
            given.append(_joined(waiting))
            waiting = []
        given.append(message)
    return [*given, _joined(waiting)] if waiting else given


def _one_by_one(message: Message, results: Sequence[Message]) -> list[Message]:
    """A message for each call of this one, each with its result after it."""
    first, *others = message.tool_calls or (None,)
    messages, left = [replace(message, tool_calls=(first,) if first else ())], [*results]
    for call in (first, *others):
        if call is not first:
            messages.append(Message("assistant", "", (call,) if call else ()))
        own = next((result for result in left if call and result.tool_call_id == call.id), None)
        if own:
            left.remove(own)
            messages.append(own)
    return [*messages, *left]


def _nine(name: str) -> str:
    """An id of nine letters or digits: the id itself, or one that follows from it."""
    if _NINE.fullmatch(name):
        return name
    return "".join(_ALPHANUMERIC[byte % len(_ALPHANUMERIC)] for byte in sha256(name.encode()).digest()[:9])
