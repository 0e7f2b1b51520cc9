"""`specchat sessions`: the stored conversations, and imports from other chats."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specchat.cli.flags import Debug, Json
from specchat.cli.messages import one_line_errors, print_json, say, show_progress
from specchat.errors import FAILED, UnreadableExport

if TYPE_CHECKING:
    from specchat.imports import Imported

sessions = typer.Typer(
    help="The stored conversations. `specchat chat --resume` continues one; /sessions in the chat lists them.",
    rich_markup_mode=None,
)

Exports = Annotated[
    list[Path],
    typer.Argument(
        metavar="FILE...",
        help="ChatGPT's zip or conversations.json, Open WebUI's JSON, LM Studio's .conversation.json, "
        "oterm's store.db, or a folder with such files.",
    ),
]


_MOST_LINES = 20
"""The most conversations of a file that are named because they cannot be read."""


@sessions.callback()
def _sessions() -> None:
    """Takes the commands."""


@sessions.command("import")
def import_(files: Exports, json: Json = False, debug: Debug = False) -> None:
    """Import conversations from other chats; those that are here already are not added twice."""
    with one_line_errors(debug):
        from specchat.imports import import_file
        from specchat.settings.paths import sessions_db
        from specchat.store.store import Store

        failed = False
        with Store.open(sessions_db()) as store:
            for file in _files(files):
                try:
                    if isinstance(file, UnreadableExport):
                        raise file
                    imported = import_file(store, file, lambda done, file=file: _progress(file, done))  # type: ignore[misc]
                except UnreadableExport as error:
                    failed = True
                    show_progress(sys.stderr, "")
                    say(str(error))
                    continue
                show_progress(sys.stderr, "")
                failed |= bool(imported.skipped)
                _report(file, imported, as_json=json)
        raise typer.Exit(FAILED if failed else 0)


def _files(paths: Sequence[Path]) -> list[Path | UnreadableExport]:
    """The files that the paths stand for, with the reason in place of a folder that has none."""
    from specchat.imports import files_in
    from specchat.settings.paths import expanded

    files: list[Path | UnreadableExport] = []
    for path in paths:
        try:
            files += files_in(expanded(path))
        except UnreadableExport as error:
            files.append(error)
    return files


def _progress(file: Path, done: int) -> None:
    if done % 20 == 0:
        show_progress(sys.stderr, f"{file.name}: {done:,} conversations")


def _report(file: Path, imported: Imported, *, as_json: bool) -> None:
    for skipped in imported.skipped[:_MOST_LINES]:
        say(f"{file}: conversation {skipped.number}: {skipped.reason}")
    if (more := len(imported.skipped) - _MOST_LINES) > 0:
        say(f"{file}: {more:,} more conversations cannot be read")
    if as_json:
        print_json({"type": "import", "file": str(file), **asdict(imported)})
    else:
        sys.stdout.write(f"{file.name}: {imported.sentence}\n")
