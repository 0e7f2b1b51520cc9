"""`/edit`: the last message, or the last answer."""

from __future__ import annotations

from specchat.chat.commands.command import Command, Refusal, fixed
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.engine_process.protocol import ServerInfo
from specchat.remote.limits import CANNOT_CONTINUE


def _read(argument: str, _sources: Sources) -> str | None:
    """None for the last message, else the new text of the last answer, which may be empty."""
    word, _, text = argument.partition(" ")
    if not word:
        return None
    if word.lower() != "answer":
        raise Refusal(f"/edit edits the last message, /edit answer the last answer: omit {word!r}")
    return text.strip()


def _refused(text: str | None, _server: ServerInfo) -> str:
    return "" if text is None else CANNOT_CONTINUE


async def _run(_chat: ChatController, ui: FrontEnd, text: str | None) -> None:
    if text is None:
        await ui.show("edit message")
    else:
        await ui.show("edit answer", text)


EDIT = Command(
    "edit",
    "[answer [TEXT]]",
    "Change the last message and send it again, or the last answer, from whose end the model goes on.",
    _read,
    _run,
    order=340,
    words=(fixed("answer"),),
    open_ended=True,
    plain="With `answer`: change the last answer in your editor, or to TEXT; the model goes on from there.",
    refuses=_refused,
)
