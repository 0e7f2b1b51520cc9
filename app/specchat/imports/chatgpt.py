"""Conversations of ChatGPT's export, `conversations.json`.

A conversation is a tree in `mapping`, and `current_node` is the end of the branch that was shown last. Calls of tools,
their results, reasoning and hidden messages are left out: they are not part of what was said.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from specchat.imports.records import ImportedChat, ImportedMessage, branch, fields, in_turn, items, moment, text

SOURCE = "chatgpt"

_SPOKEN = ("text", "multimodal_text")
_CITATION = re.compile("\ue200[^\ue200\ue201]*\ue201")
"""Marks of a source or a widget, which only ChatGPT's own page can draw."""


def is_chat(element: Mapping[str, Any]) -> bool:
    """True if an element of an export is a conversation of ChatGPT."""
    return isinstance(element.get("mapping"), dict)


def read_chat(element: Mapping[str, Any]) -> ImportedChat:
    """The branch of a conversation that was shown last."""
    nodes = fields(element["mapping"])
    last = element.get("current_node")
    if last not in nodes if isinstance(last, str) else True:
        last = _newest(nodes)
    return ImportedChat(
        SOURCE,
        text(element.get("conversation_id")) or text(element.get("id")),
        text(element.get("title")),
        in_turn(_message(fields(node.get("message"))) for node in branch(nodes, last, "parent")),
        moment(element.get("create_time")),
        moment(element.get("update_time")),
    )


def _newest(nodes: Mapping[str, Any]) -> str | None:
    """The node of the newest message; the later one in the file if times are equal."""
    times = {
        name: moment(fields(fields(node).get("message")).get("create_time")) or 0.0 for name, node in nodes.items()
    }
    return max(reversed(times), key=lambda name: times[name], default=None)


def _message(message: Mapping[str, Any]) -> ImportedMessage:
    """A message; one without text is not part of the conversation."""
    content = fields(message.get("content"))
    spoken = (
        content.get("content_type") in _SPOKEN
        and message.get("recipient") in (None, "all")
        and fields(message.get("metadata")).get("is_visually_hidden_from_conversation") is not True
    )
    return ImportedMessage(
        text(fields(message.get("author")).get("role")),
        "\n\n".join(filter(None, map(_part, items(content.get("parts"))))) if spoken else "",
        moment(message.get("create_time")),
    )


def _part(part: object) -> str:
    """The text of a part: a text, what was spoken, or a word for an image or another file."""
    if isinstance(part, str):
        return _CITATION.sub("", part)
    kind = text(fields(part).get("content_type"))
    return text(fields(part).get("text")) or ("[image]" if kind == "image_asset_pointer" else "")
