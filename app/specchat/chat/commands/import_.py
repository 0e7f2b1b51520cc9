"""`/import`."""

from __future__ import annotations

from pathlib import Path

from specchat.chat.commands.command import Command, Files, Refusal, path
from specchat.chat.controller import ChatController, FrontEnd, Sources


def _read(argument: str, sources: Sources) -> Path:
    if not argument:
        raise Refusal("name the export: /import FILE, or a folder with exports")
    return path(argument, sources)


async def _run(_chat: ChatController, ui: FrontEnd, file: Path) -> None:
    async def import_file() -> None:
        from specchat.chat.importing import import_beside  # few chats need it

        ui.notice(await import_beside(file))

    await ui.background(import_file(), f"importing {file.name} in the background")


IMPORT = Command(
    "import",
    "FILE|FOLDER",
    "Add the conversations of an export of ChatGPT, Open WebUI, LM Studio or oterm.",
    _read,
    _run,
    order=250,
    words=(Files(),),
    open_ended=True,
    plain=True,
)
