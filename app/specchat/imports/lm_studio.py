"""Conversations of LM Studio: one `.conversation.json` file for each, in `~/.lmstudio/conversations`.

A message has versions, of which `currentlySelected` is shown. An answer may consist of steps: thinking, calls of tools
and text. Only its text is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from specchat.imports.records import ImportedChat, ImportedMessage, fields, in_turn, items, moment, parts, text

SOURCE = "lm-studio"

_SYSTEM = "llm.prediction.systemPrompt"


def is_chat(element: Mapping[str, Any]) -> bool:
    """True if a JSON object is a conversation of LM Studio."""
    messages = element.get("messages")
    versions = any(isinstance(fields(message).get("versions"), list) for message in items(messages))
    return versions or (isinstance(messages, list) and "createdAt" in element)


def read_chat(element: Mapping[str, Any]) -> ImportedChat:
    """The selected versions of a conversation's messages. The files carry no id: the time of creation stands for it."""
    created = moment(element.get("createdAt"))
    configured = items(fields(element.get("perChatPredictionConfig")).get("fields"))
    system = [text(fields(field).get("value")) for field in configured if fields(field).get("key") == _SYSTEM]
    return ImportedChat(
        SOURCE,
        str(created) if created is not None else "",
        text(element.get("name")),
        in_turn(map(_message, items(element.get("messages")))),
        created,
        moment(element.get("userLastMessagedAt")),
        next(filter(None, system), text(element.get("systemPrompt"))) or None,
    )


def _message(message: object) -> ImportedMessage:
    version = _selected(fields(message))
    if version.get("type") == "multiStep":
        content = "\n\n".join(filter(None, map(_step, items(version.get("steps")))))
    else:
        content = parts(version.get("content"))
    return ImportedMessage(text(version.get("role")), content)


def _selected(message: Mapping[str, Any]) -> Mapping[str, Any]:
    versions, chosen = items(message.get("versions")), message.get("currentlySelected")
    if not versions:
        return {}
    return fields(versions[chosen if isinstance(chosen, int) and 0 <= chosen < len(versions) else -1])


def _step(step: object) -> str:
    thinking = fields(fields(step).get("style")).get("type") == "thinking"
    spoken = fields(step).get("type") == "contentBlock" and not thinking
    return parts(fields(step).get("content")) if spoken else ""
