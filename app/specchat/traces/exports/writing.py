"""A file that is there whole or not at all."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from specchat.errors import ExportError


def write_whole(text: str, path: Path, *, overwrite: bool) -> None:
    """Writes a text as UTF-8. Raises ExportError where the file exists and is to stay, OSError where it cannot be."""
    if path.is_dir():
        raise ExportError(f"{path} is a folder: name a file in it")
    if not path.parent.is_dir():
        raise ExportError(f"{path.parent} is no folder: make it first, or choose another")
    if not overwrite and os.path.lexists(path):
        raise _exists(path)
    unfinished = path.parent / f".{secrets.token_hex(8)}.unfinished"
    try:
        with unfinished.open("x", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        _place(unfinished, path, overwrite=overwrite)
    finally:
        unfinished.unlink(missing_ok=True)


def _place(unfinished: Path, path: Path, *, overwrite: bool) -> None:
    """Without leave to write over, a file that came into being meanwhile is kept too, where the file system can."""
    if not overwrite:
        try:
            path.hardlink_to(unfinished)
        except FileExistsError:
            raise _exists(path) from None
        except OSError:
            pass  # no hard links here
        else:
            return
    unfinished.replace(path)


def _exists(path: Path) -> ExportError:
    return ExportError(f"{path} exists: choose another name, or allow to write over it")
