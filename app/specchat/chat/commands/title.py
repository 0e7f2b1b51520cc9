"""`/title`."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Refusal
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.terminal.filter import clean_line


def _read(argument: str, _sources: Sources) -> str:
    title = clean_line(argument)
    if not title:
        raise Refusal("give the session a title: /title TEXT")
    return title


async def _run(chat: ChatController, ui: FrontEnd, title: str) -> None:
    chat.change(title=title)
    ui.refresh()
    ui.note(f"the title of this session is “{title}”")


TITLE = Command("title", "TEXT", "Another title for this session.", _read, _run, order=25, plain=True)
