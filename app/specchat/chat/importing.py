"""Conversations from an export of another chat, imported beside the chat by a process of its own."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path

from specchat.background import run_quietly
from specchat.imports import Imported, SkippedChat
from specchat.terminal.filter import clean_line


async def import_beside(path: Path) -> str:
    """Imports a file, or the exports in a folder. Returns one line that says what became of them.

    Importing a file again adds nothing twice, so an import that was cut short can be repeated.
    """
    if not path.exists():
        return clean_line(f"nothing was imported: there is no {path}")
    output, errors = await run_quietly(["sessions", "import", "--json", str(path)])
    found = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    if not found:
        lines = [line.strip().removeprefix("specchat: ") for line in errors.splitlines() if line.strip()]
        return clean_line(f"nothing was imported: {lines[-1] if lines else 'the import was ended'}")
    total = Imported(**{name: sum(each[name] for each in found) for name in _NUMBERS}, skipped=_skipped(found))
    files = f" from {len(found)} files" if len(found) > 1 else ""
    return clean_line(f"{path.name}: {total.sentence}{files}. Ctrl+O or /sessions lists them")


_NUMBERS = tuple(field.name for field in fields(Imported) if field.name != "skipped")


def _skipped(found: list[dict[str, list[dict[str, str]]]]) -> tuple[SkippedChat, ...]:
    return tuple(SkippedChat(int(one["number"]), one["reason"]) for each in found for one in each["skipped"])
