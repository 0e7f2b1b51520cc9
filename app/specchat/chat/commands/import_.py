"""`/import`."""

from __future__ import annotations

import json
from pathlib import Path

from specchat.chat.commands.command import Command, Files, Refusal, path
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.terminal.filter import clean_line


def _read(argument: str, sources: Sources) -> Path:
    if not argument:
        raise Refusal("name the export: /import FILE, or a folder with exports")
    return path(argument, sources)


async def _run(_chat: ChatController, ui: FrontEnd, export: Path) -> None:
    async def import_all() -> None:
        ui.notice(clean_line(await _imported(export)))

    await ui.background(import_all(), f"importing {export.name} in the background")


async def _imported(export: Path) -> str:
    """Imports a file, or the exports in a folder, in a process of its own. Returns one line about what was imported.

    Importing a file again adds nothing twice, so an import that was cut short can be repeated.
    """
    from specchat.background import run_quietly  # few chats need them
    from specchat.imports import Imported
    from specchat_engine.codec import from_json

    if not export.exists():
        return f"nothing was imported: there is no {export}"
    output, errors = await run_quietly(["sessions", "import", "--json", str(export)])
    files = [from_json(Imported, json.loads(line)) for line in output.splitlines() if line.startswith("{")]
    if not files:
        lines = [line.strip().removeprefix("specchat: ") for line in errors.splitlines() if line.strip()]
        return f"nothing was imported: {lines[-1] if lines else 'the import was ended'}"
    several = f" from {len(files)} files" if len(files) > 1 else ""
    return f"{export.name}: {sum(files, Imported()).sentence}{several}. Ctrl+O or /sessions lists them"


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
