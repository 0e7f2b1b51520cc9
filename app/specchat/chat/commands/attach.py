"""`/attach`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Files, Refusal, unquoted
from specchat.chat.controller import Sources


def _read(argument: str, _sources: Sources) -> str:
    if not argument:
        raise Refusal("name the file: /attach FILE, or @FILE in a message")
    return unquoted(argument)


ATTACH = Command("attach", "FILE", "Add a file to the next message; so does @FILE.", _read, order=260, words=(Files(),))
