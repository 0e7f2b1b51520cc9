"""What `specchat sessions import` does."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from specchat.cli.reporting import print_json, say, show_progress
from specchat.errors import FAILED, UnreadableExport
from specchat.imports import Imported, files_in, import_file
from specchat.settings.paths import expanded, sessions_db
from specchat.store.store import Store

_MOST_LINES = 20
"""The most conversations of a file that are named because they cannot be read."""


def import_files(paths: Sequence[Path], *, as_json: bool) -> int:
    """Imports each file and prints a line for it. Returns the exit code: 1 if something could not be read."""
    failed = False
    with Store.open(sessions_db()) as store:
        for file in _files(paths):
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
            _report(file, imported, as_json=as_json)
    return FAILED if failed else 0


def _files(paths: Sequence[Path]) -> list[Path | UnreadableExport]:
    """The files that the paths stand for, with the reason in place of a folder that has none."""
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
