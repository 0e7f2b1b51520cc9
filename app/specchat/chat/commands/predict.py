"""`/predict`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from specchat.chat.commands.command import Command, Files, Refusal, path
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.errors import SpecchatError


def _read(argument: str, sources: Sources) -> Path:
    file = argument.removeprefix("@")
    if not file:
        raise Refusal("name the file that will be repeated: /predict FILE")
    return path(file, sources)


async def _run(chat: ChatController, ui: FrontEnd, file: Path) -> None:
    async def read_file() -> None:
        try:
            ui.note(await asyncio.to_thread(chat.session.predict, file))
        except SpecchatError as error:
            ui.note(str(error))

    await ui.background(read_file())  # a document takes a moment


PREDICT = Command(
    "predict",
    "FILE",
    "A text that the next answer will mostly repeat: lookup drafts it.",
    _read,
    _run,
    order=310,
    words=(Files(),),
    plain=True,
)
