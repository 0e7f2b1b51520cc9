"""Tools, calls and results as text, for templates that know of none.

The tools are described in a message, and calls and results become messages. The calls have the form that Hermes models
made known, which many others were trained on too. llama.cpp does the same.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from specchat_engine.prompt.messages import Message, Prompt, ToolCall, function_of


def with_tools_as_text(prompt: Prompt) -> Prompt:
    """The same prompt without tools, calls and results beside its messages."""
    messages = [*_with_results_as_text(with_calls_as_text(prompt.messages))]
    if prompt.tools and messages:
        if messages[0].role == "assistant":
            messages.insert(0, Message("system", ""))
        first = messages[0]
        messages[0] = replace(first, content=f"{_description(prompt.tools)}\n\n{first.content}".rstrip())
    return replace(prompt, messages=messages, tools=())


def with_calls_as_text(messages: Sequence[Message]) -> list[Message]:
    """The same messages with their calls in the content."""
    return [replace(message, content=_with_calls(message), tool_calls=()) for message in messages]


def _with_calls(message: Message) -> str:
    lines = [message.content] if message.content else []
    return "\n".join((*lines, *map(_written, message.tool_calls)))


def _with_results_as_text(messages: Sequence[Message]) -> Iterator[Message]:
    """The same messages with results as messages of the user; those that follow each other become one."""
    results: list[str] = []
    for message in messages:
        if message.role == "tool":
            results.append(f"<tool_response>\n{message.content}\n</tool_response>")
            continue
        if results:
            yield Message("user", "\n".join(results))
            results = []
        yield message
    if results:
        yield Message("user", "\n".join(results))


def _written(call: ToolCall) -> str:
    return f'<tool_call>\n{{"name": {_json(call.name)}, "arguments": {call.arguments}}}\n</tool_call>'


def _description(tools: Sequence[Mapping[str, Any]]) -> str:
    functions = "\n".join(_json(function_of(tool)) for tool in tools)
    return (
        f"You can call these functions, which are described in JSON:\n{functions}\n"
        "To call a function, answer with a JSON object that has its name and arguments, between these tags:\n"
        '<tool_call>\n{"name": "the function", "arguments": {"its": "arguments"}}\n</tool_call>\n'
        "The result comes in the next message."
    )


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
