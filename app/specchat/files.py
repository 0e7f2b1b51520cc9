"""Reading and writing the small files of the user and the application."""

from __future__ import annotations

import errno
import json
import logging
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import Any, BinaryIO, TypeVar

from specchat.errors import ConfigError, FileTooLarge
from specchat_engine.codec import from_json, to_json

T = TypeVar("T")

_log = logging.getLogger(__name__)


def replace_text(path: Path, text: str) -> None:
    """Writes a small file atomically: a reader sees either the old text or the new one. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Each thread has its own name: several threads, and several processes, may write the same file.
    beside = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    try:
        beside.write_text(text, encoding="utf-8")
        beside.replace(path)
    except BaseException:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise


def load_json(file: Path, kind: type[T]) -> T | None:
    """What `save_json` wrote; None if there is no file, or another text in it."""
    try:
        return from_json(kind, json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, RecursionError):
        return None


def save_json(file: Path, value: Any) -> None:
    """Writes a value as the codec does, atomically. A folder that cannot be written is only logged."""
    try:
        replace_text(file, json.dumps(to_json(value), indent=1))
    except OSError as error:
        _log.warning("%s could not be written: %s", file, error)


def open_regular(path: Path) -> BinaryIO:
    """Opens a regular file for reading. Raises OSError, also for a pipe or a device: reading one may never end."""
    file = open(path, "rb", opener=_without_waiting)  # noqa: SIM115 - the caller closes it
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(errno.EINVAL, "it is not a regular file", str(path))
    return file


def _without_waiting(path: str, flags: int) -> int:
    """Opens a file, and a pipe without a writer too, at once."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def bounded_text(path: Path, most: int, *, pipes: bool = False) -> str:
    """The text of a file in UTF-8, without a byte order mark; all line ends are `\\n`.

    With `pipes` the file may also be a pipe or a device. Raises OSError, UnicodeDecodeError, and FileTooLarge if it has
    more than `most` bytes: they are not all read then.
    """
    with path.open("rb") if pipes else open_regular(path) as file:
        content = file.read(most + 1)
        if len(content) > most:
            raise FileTooLarge(path, os.fstat(file.fileno()).st_size)
    return content.decode("utf-8-sig").replace("\r\n", "\n")


CONFIG_BYTES = 2**20
"""The most bytes of a file with settings."""


@contextmanager
def reading_toml(file: Path) -> Iterator[None]:
    """Turns errors while a TOML file is read into a ConfigError that names the file and the remedy."""
    try:
        yield
    except FileTooLarge as error:
        raise ConfigError(f"{error}, or move it away") from None
    except OSError as error:
        raise ConfigError(
            f"{file} cannot be read: {error.strerror or error}; make it readable, or move it away"
        ) from None
    except ValueError as error:  # of the TOML or of its encoding
        raise ConfigError(f"{file} is not valid TOML: {error}; correct it, or move it away") from None
