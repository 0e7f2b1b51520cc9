"""`/copy`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Refusal, fixed
from specchat.chat.controller import Sources

_PARTS = ("answer", "code", "chat")


def _read(argument: str, _sources: Sources) -> str | int:
    """A part of the conversation, or the number of a code block."""
    if argument.isascii() and argument.isdigit() and int(argument) > 0:
        return int(argument)
    if argument and argument.lower() not in _PARTS:
        raise Refusal(f"{argument!r} cannot be copied: use {', '.join(_PARTS)}, or a number")
    return argument.lower() or "answer"


COPY = Command(
    "copy",
    "[answer|code|chat|NUMBER]",
    "Copy to the clipboard; a number is that of a code block in the last answer.",
    _read,
    order=320,
    words=(fixed(*_PARTS),),
    open_ended=True,
)
