"""Conversations from an export of another chat, imported beside the chat by a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

from specchat.background import run_quietly
from specchat.imports import Imported
from specchat.terminal.filter import clean_line
from specchat_engine.codec import from_json


async def import_beside(path: Path) -> str:
    """Imports a file, or the exports in a folder. Returns one line that says what became of them.

    Importing a file again adds nothing twice, so an import that was cut short can be repeated.
    """
    if not path.exists():
        return clean_line(f"nothing was imported: there is no {path}")
    output, errors = await run_quietly(["sessions", "import", "--json", str(path)])
    found = [from_json(Imported, json.loads(line)) for line in output.splitlines() if line.startswith("{")]
    if not found:
        lines = [line.strip().removeprefix("specchat: ") for line in errors.splitlines() if line.strip()]
        return clean_line(f"nothing was imported: {lines[-1] if lines else 'the import was ended'}")
    total = sum(found, Imported())
    files = f" from {len(found)} files" if len(found) > 1 else ""
    return clean_line(f"{path.name}: {total.sentence}{files}. Ctrl+O or /sessions lists them")
