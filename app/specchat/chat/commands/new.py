"""`/new`."""

from __future__ import annotations

from specchat.chat.commands.command import Command
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.session import new_conversation
from specchat.terminal.filter import clean_line


def _read(argument: str, _sources: Sources) -> str:
    return clean_line(argument)


async def _run(chat: ChatController, ui: FrontEnd, title: str) -> None:
    conversation = new_conversation(chat.session.options)
    if title:
        conversation.change(title=title)
    await ui.enter(conversation)


NEW = Command("new", "[TITLE]", "A new conversation with the same models.", _read, _run, order=20, plain=True)
