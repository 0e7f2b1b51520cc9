"""What the palette offers over the chat: the slash commands that need nothing behind their name, and the panels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from textual.app import SystemCommand

from specchat.chat.commands.invocations import Quit, Refusal, SetTheme
from specchat.chat.commands.reading import Sources
from specchat.chat.commands.registry import COMMANDS
from specchat.tui.screens.dispatch import perform

if TYPE_CHECKING:
    from specchat.tui.screens.chat import ChatScreen

OF_TEXTUAL = frozenset({"Theme", "Screenshot", "Quit"})
"""The titles of Textual's own commands that are of use here: its help of keys knows less than F1."""


def offered(chat: ChatScreen) -> Iterator[SystemCommand]:
    """The commands by their names, then what has a key and no command."""
    for command in COMMANDS:
        asked = command.read("", Sources())
        # Textual has these two itself.
        if not isinstance(asked, Refusal | Quit | SetTheme):
            yield SystemCommand(f"/{command.name}", command.help, partial(perform, chat, asked))
    yield SystemCommand("Knobs", "k, drafter, verifier, temperature and more", chat.action_knobs)
    yield SystemCommand("View", "The answer as trace, coloured, or Markdown", chat.action_view)
    yield SystemCommand("Inspect", "The tokens of the answer in view: p, q, ranks", chat.action_inspect)
    yield SystemCommand("Figures", "What each figure means", chat.action_figures)
