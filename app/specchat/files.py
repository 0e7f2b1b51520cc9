"""Reading and writing the small files of the user and the application."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import get_ident
from typing import BinaryIO

from specchat.errors import ConfigError, FileTooLarge


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
