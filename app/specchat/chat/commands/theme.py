"""`/theme`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, named
from specchat.chat.controller import Sources


def _read(argument: str, sources: Sources) -> str | None:
    return named(argument, sources.themes(), "theme")


THEME = Command("theme", "[NAME]", "Other colours.", _read, order=380, words=(lambda sources, _: sources.themes(),))
