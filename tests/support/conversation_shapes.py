"""Conversations in shapes in which clients send them, each message and each call with a text of its own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from specchat_engine import Message, Prompt, TemplateError, ToolCall
from specchat_engine.prompt.messages import Role
from specchat_engine.prompt.template import ChatTemplate

_PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
_TOOLS: Any = ({"type": "function", "function": {"name": "look", "description": "Looks.", "parameters": _PARAMETERS}},)
_ROLES: Final[dict[str, Role]] = {"s": "system", "u": "user", "a": "assistant", "r": "tool"}

SHAPES: Final = (
    "su",
    "ssu",
    "suasu",
    "uasu",
    "uaus",
    "us",
    "uu",
    "uaau",
    "au",
    "sau",
    "ucr",
    "ucru",
    "sucr",
    "sucrau",
    "uCrr",
    "uCrrau",
    "ucrcr",
    "uacr",
    "suucrs",
    "sua_",
    "ua_",
    "ubr",
    "uxrau",
)
"""A letter for each message: s, u, a, r have the roles of system, user, assistant and tool.

Of the answers with calls, c has one call, C has two, b has a text beside its call, and x has arguments that were cut
off. After a "_" an answer is continued.
"""


def conversation(shape: str) -> tuple[Prompt, list[str]]:
    """The conversation of a shape, and its texts."""
    messages: list[Message] = []
    texts: list[str] = []
    open_calls: list[str] = []

    def text() -> str:
        texts.append(f"word{len(texts)}x")
        return texts[-1]

    def call(cut: bool = False) -> ToolCall:
        open_calls.append(f"call_{len(messages)}-{len(open_calls)}")
        return ToolCall("look", '{"path": "cut' if cut else f'{{"path": "{text()}"}}', open_calls[-1])

    for letter in shape.removesuffix("_"):
        match letter:
            case "r":
                messages.append(Message("tool", text(), tool_call_id=open_calls.pop(0), name="look"))
            case "c" | "x":
                messages.append(Message("assistant", "", (call(letter == "x"),)))
            case "C":
                messages.append(Message("assistant", "", (call(), call())))
            case "b":
                messages.append(Message("assistant", text(), (call(),)))
            case _:
                messages.append(Message(_ROLES[letter], text()))
    return Prompt(messages, _TOOLS if any(message.tool_calls for message in messages) else ()), texts


def lost_shapes(template: ChatTemplate) -> Iterator[str]:
    """The shapes that a template fails with, or of which it leaves out a text."""
    for shape in SHAPES:
        prompt, texts = conversation(shape)
        try:
            rendered = template.render(prompt)
        except TemplateError:
            yield shape
            continue
        if not all(text in rendered for text in texts) or (shape.endswith("_") and not rendered.endswith(texts[-1])):
            yield shape
