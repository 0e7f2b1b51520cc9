"""`/help`."""

from __future__ import annotations

from collections.abc import Iterable

from specchat.chat.commands.command import Command
from specchat.chat.controller import Sources


def _read(argument: str, _sources: Sources) -> str | None:
    return argument.removeprefix("/").lower() or None


def _commands(_sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    from specchat.chat.commands.registry import commands

    return ((command.name, command.help) for command in commands().values())


HELP = Command(
    "help",
    "[COMMAND|WORDS]",
    "Keys, colours, figures, commands; with words, a search.",
    _read,
    order=10,
    words=(_commands,),
    open_ended=True,
    plain="The commands, or what one of them does; with words, a search of the docs. A listed number reads that.",
)
