"""Messages of a conversation as text: with the calls of answers, and what results are of."""

from __future__ import annotations

from specchat.store.records import StoredMessage, ToolUse
from specchat.traces.exports.document import result_of, with_calls


def told_with_calls(message: StoredMessage) -> tuple[str, str]:
    """Who says something, and the text as Markdown."""
    use = message.tools or ToolUse()
    if message.role == "tool":
        return result_of(use.name), message.content
    return message.role, with_calls(message.content, ((call.name, call.arguments) for call in use.calls))
