"""`/quit`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, nothing
from specchat.chat.controller import ChatController, FrontEnd


async def _run(_chat: ChatController, ui: FrontEnd, _value: None) -> None:
    await ui.quit()


QUIT = Command("quit", "", "Leave; the conversation is saved.", nothing, _run, order=420, plain=True)
