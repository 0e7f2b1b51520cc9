"""What a text in the prompt is: a command, one that cannot be, or a message."""

from __future__ import annotations

import re

from specchat.chat.commands.invocations import Invocation, Refusal
from specchat.chat.commands.readers import nearest
from specchat.chat.commands.registry import BY_NAME
from specchat.chat.commands.sources import Sources
from specchat.terminal.filter import clean_line

_COMMAND = re.compile(r"/([^\s/]*)(?:\s+(.*))?", re.DOTALL)


def parse(text: str, sources: Sources) -> Invocation | Refusal | None:
    """What the command asks for, or why it cannot be; None for an ordinary message.

    A message begins with two slashes where it is to begin with one. A first word with another slash in it is a path,
    and so the beginning of a message.
    """
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return None
    found = _read(match[1].lower(), (match[2] or "").strip(), sources)
    return Refusal(clean_line(found.reason)) if isinstance(found, Refusal) else found


def message_text(text: str) -> str:
    """The message without the slash that told it from a command."""
    return text[1:] if text.startswith("//") else text


def _read(name: str, argument: str, sources: Sources) -> Invocation | Refusal:
    command = BY_NAME.get(name)
    if command is not None:
        return command.read(argument, sources)
    if not name:
        return Refusal("a command has a name, such as /help; // begins a message with a slash")
    near = nearest(name, BY_NAME)
    hint = f"did you mean /{near}?" if near else "/help lists them;"
    return Refusal(f"there is no command /{name}: {hint} // begins a message with a slash")
