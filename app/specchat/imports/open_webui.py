"""Conversations of Open WebUI's export, a JSON array of its chats.

A chat has a tree in `history.messages`, and `history.currentId` is the end of the branch that was shown last. Very old
exports have only the list `messages`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from specchat.imports.records import ImportedChat, ImportedMessage, branch, fields, in_turn, items, moment, parts, text

SOURCE = "open-webui"

_DETAILS = re.compile(r"<details\s{1,9}type=\"(?:reasoning|tool_calls|code_interpreter)\"")
_DETAILS_END = re.compile(r"</details>\s*")


def is_chat(element: Mapping[str, Any]) -> bool:
    """True if an element of an export is a chat of Open WebUI."""
    chat = _chat(element)
    return isinstance(chat.get("history"), dict) or (chat is not element and isinstance(chat.get("messages"), list))


def read_chat(element: Mapping[str, Any]) -> ImportedChat:
    """The branch of a chat that was shown last."""
    chat = _chat(element)
    return ImportedChat(
        SOURCE,
        text(element.get("id")) or text(chat.get("id")),
        text(element.get("title")) or text(chat.get("title")),
        in_turn(map(_message, _shown(element, chat))),
        moment(element.get("created_at")) or moment(chat.get("timestamp")),
        moment(element.get("updated_at")),
        text(fields(chat.get("params")).get("system")) or text(chat.get("system")) or None,
        tuple(filter(None, map(text, items(fields(element.get("meta")).get("tags"))))),
    )


def _chat(element: Mapping[str, Any]) -> Mapping[str, Any]:
    """The chat itself: in the field `chat`, or the element in old exports."""
    return fields(element.get("chat")) or element


def _shown(element: Mapping[str, Any], chat: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
    history = fields(chat.get("history"))
    nodes = fields(history.get("messages"))
    listed = [fields(message) for message in items(chat.get("messages"))]
    last = history.get("currentId") or element.get("current_message_id") or (listed[-1].get("id") if listed else None)
    return branch(nodes, last, "parentId") or listed or branch(nodes, [*nodes][-1] if nodes else None, "parentId")


def _message(message: Mapping[str, Any]) -> ImportedMessage:
    content = parts(message.get("content")) or _output(items(message.get("output")))
    return ImportedMessage(
        text(message.get("role")), _without_details(content).strip("\n"), moment(message.get("timestamp"))
    )


def _without_details(content: str) -> str:
    """The text without reasoning and calls of tools, which Open WebUI writes into it as tags. Takes linear time."""
    retained: list[str] = []
    at = 0
    while begin := _DETAILS.search(content, at):
        inside = content.find(">", begin.end())
        end = _DETAILS_END.search(content, inside) if inside >= 0 else None
        if end is None:
            break
        retained.append(content[at : begin.start()])
        at = end.end()
    return "".join(retained) + content[at:]


def _output(steps: Iterable[Any]) -> str:
    """The text of an answer that is kept as steps, as in OpenAI's Responses API."""
    messages = (parts(fields(step).get("content")) for step in steps if fields(step).get("type") == "message")
    return "\n\n".join(filter(None, messages))
