"""Small files of the application's own."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from threading import get_ident


def replace_text(path: Path, text: str) -> None:
    """Writes a small file at one stroke: whatever fails, a reader sees the old text or the new one. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Another name for each thread: parts of a model are installed by several at once, and applications share folders.
    beside = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
