"""What is to be answered: a conversation for the model's chat template, or a raw text or token ids without one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from specchat_engine.errors import SettingError
from specchat_engine.prompt.images import Image

Role = Literal["system", "user", "assistant", "tool"]

_ROLES: Final[Mapping[str, Role]] = {role: role for role in get_args(Role)} | {
    "developer": "system",
    "function": "tool",
}


_TEXTS: Final = ("text", "input_text", "output_text", "refusal")
"""The types of parts of a message that are texts."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A function that the model wants to be called. `arguments` is the text of a JSON object, as the model wrote it."""

    name: str
    arguments: str = "{}"
    id: str = ""

    @classmethod
    def of(cls, values: Any) -> ToolCall:
        """A call in the form of OpenAI's chat API. Raises SettingError for a value that is none."""
        function = values.get("function") if isinstance(values, Mapping) else None
        if not isinstance(function, Mapping):
            raise SettingError(f"a tool call is {_short(values)}: give a function with a name and arguments")
        name, arguments = _text(function, "name", "a tool call"), arguments_text(function.get("arguments"))
        return cls(name, arguments, _text(values, "id", "a tool call"))

    def to_json(self) -> dict[str, Any]:
        """The call in the form of OpenAI's chat API."""
        call = {"type": "function", "function": {"name": self.name, "arguments": self.arguments}}
        return {"id": self.id, **call} if self.id else call


def arguments_text(arguments: Any) -> str:
    """The arguments of a call as text. Some clients send an object instead, or nothing for a call without any."""
    if arguments is None or arguments == "":
        return "{}"
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation.

    An answer may have `tool_calls`, and `reasoning_content` with what the model thought before it. The role "tool" is
    that of a result: `tool_call_id` says of which call, and `name` of which function. `images` stand before the
    content.
    """

    role: Role
    content: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""
    name: str = ""
    reasoning_content: str = ""
    images: tuple[Image, ...] = ()

    @classmethod
    def of(cls, values: Any) -> Message:
        """A message with the keys of OpenAI's chat API; others are ignored.

        The content may be null or a list of texts, which become lines, and of thoughts. The role "developer" is
        "system", and "function" is "tool". Raises SettingError for what is not a message, also for pictures and sound.
        """
        if not isinstance(values, Mapping):
            raise SettingError(f"a message is {_short(values)}: use an object with role and content")
        role = values.get("role")
        if not isinstance(role, str) or role not in _ROLES:
            raise SettingError(f"a message has the role {_short(role)}: use {', '.join(get_args(Role))}")
        calls = values.get("tool_calls") or ()
        if not isinstance(calls, list | tuple):
            raise SettingError(f"a message's tool_calls are {_short(calls)}: use a list")
        content, thought = _content(values.get("content"))
        return cls(
            _ROLES[role],
            content,
            tuple(map(ToolCall.of, calls)),
            _text(values, "tool_call_id", "a message"),
            _text(values, "name", "a message"),
            _text(values, "reasoning_content", "a message") or _text(values, "reasoning", "a message") or thought,
        )

    def to_json(self) -> dict[str, Any]:
        """The message in the form of OpenAI's chat API, without images, and without empty keys but the content."""
        message: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_calls:
            message["tool_calls"] = [call.to_json() for call in self.tool_calls]
        more = {name: getattr(self, name) for name in ("tool_call_id", "name", "reasoning_content")}
        return message | {name: value for name, value in more.items() if value}


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is to be answered, if it is more than messages.

    The chat template makes a prompt of the `messages`. It gets `tools`, which are functions in the form of OpenAI's
    chat API, and further `variables`, such as `enable_thinking`. A `raw` prompt needs no template and is never
    shortened. It is a text, in which control tokens may be written out, or token ids. Nor is one that is to stay
    `whole`; of others the context drops old turns that it has no room for.

    `shown` names control tokens that the answer's text shall show, because its parser looks for them; see
    `AnswerFormat.marks`. All others print nothing. With `must_call` the answer has to call one of the tools, or several
    with `parallel_calls`, and a grammar holds the arguments to its schema.

    Raises SettingError for a raw prompt that has messages too, and for a tool that is not a function.
    """

    messages: Sequence[Message] = ()
    tools: Sequence[Mapping[str, Any]] = ()
    variables: Mapping[str, Any] = field(default_factory=dict)
    raw: str | Sequence[int] | None = None
    shown: Sequence[str] = ()
    whole: bool = False
    must_call: bool = False
    parallel_calls: bool = True

    def __post_init__(self) -> None:
        if self.raw is not None and (self.messages or self.tools):
            raise SettingError("a raw prompt has no messages and no tools: leave out one or the other")
        for tool in self.tools:
            function_of(tool)

    @classmethod
    def of(cls, asked: Asked) -> Prompt:
        """The prompt itself, or one of messages alone."""
        return asked if isinstance(asked, Prompt) else cls(tuple(asked))


def function_of(tool: Any) -> Mapping[str, Any]:
    """The function that a tool is, in the form of OpenAI's chat API. Raises SettingError for one without a name."""
    function = tool.get("function", tool) if isinstance(tool, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str) or not function["name"]:
        raise SettingError(f"a tool is {_short(tool)}: give a function with a name")
    return function


Asked = Sequence[Message] | Prompt
"""What a session answers."""


def _content(content: Any) -> tuple[str, str]:
    """The text of a message's content, and the thought in it."""
    if content is None or isinstance(content, str):
        return content or "", ""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in content if isinstance(content, list | tuple) else [content]:
        kind = part.get("type", "text") if isinstance(part, Mapping) else part
        if kind == "thinking":
            thoughts.append(_content(part.get("thinking"))[0])
        elif kind in _TEXTS:
            texts.append(_text(part, "refusal" if kind == "refusal" else "text", "a content part"))
        else:
            raise SettingError(f"a message's content is {_short(kind)}: only text can be read")
    return "\n".join(texts), "\n".join(thoughts)


def _text(values: Mapping[str, Any], key: str, what: str) -> str:
    value = values.get(key)
    if value is not None and not isinstance(value, str):
        raise SettingError(f"{key} of {what} is {_short(value)}: use a text")
    return value or ""


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"
