"""`/export`."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from specchat.chat.commands.command import Command, Files, Refusal, closest, fixed, path
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.errors import ExportExists, SpecchatError

_KINDS = ("markdown", "html", "jsonl", "svg")


class ExportFile(NamedTuple):
    """A kind of file and its path; None for a name that is chosen."""

    kind: str = "markdown"
    path: Path | None = None


def _read(argument: str, sources: Sources) -> ExportFile:
    typed, _, file = argument.partition(" ")
    kind = {"md": "markdown"}.get(typed.lower(), typed.lower())
    if kind not in _KINDS:
        hint = closest(typed, _KINDS)
        raise Refusal(f"there is no export {typed!r}: {hint}" if typed else f"name the kind of export: {hint}")
    return ExportFile(kind, path(file.strip(), sources) if file.strip() else None)


async def _run(chat: ChatController, ui: FrontEnd, file: ExportFile) -> None:
    await export(chat, ui, file)


async def export(chat: ChatController, ui: FrontEnd, file: ExportFile, *, overwrite: bool = False) -> None:
    """Writes the conversation to a file; asks before one is replaced."""
    session = chat.session
    try:
        written = await chat.archive.export(
            session.conversation, session.loaded, file.kind, file.path, overwrite=overwrite
        )
    except ExportExists:
        await ui.confirm(file.path or Path(), lambda: export(chat, ui, file, overwrite=True))
    except SpecchatError as error:
        ui.notice(f"nothing was exported: {error}", failure=True)
    else:
        ui.notice(f"exported to {written}")


EXPORT = Command(
    "export",
    "KIND [FILE]",
    "Save the conversation as a file.",
    _read,
    _run,
    order=240,
    words=(fixed(*_KINDS), Files()),
    open_ended=True,
    plain=True,
)
