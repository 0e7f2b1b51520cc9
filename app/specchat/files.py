"""Small files of the user's and of the application's own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident

from specchat.errors import ConfigError


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


@contextmanager
def reading_toml(file: Path) -> Iterator[None]:
    """Turns what goes wrong while a TOML file is read into a ConfigError: which file, what it is, what to do."""
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror or error}; make it readable, or move it away"
        ) from None
    except ValueError as error:  # the TOML's, or its encoding's
        raise ConfigError(f"{file} is not valid TOML: {error}; correct it, or move it away") from None
