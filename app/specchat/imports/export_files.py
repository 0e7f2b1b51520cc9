"""Reads an export of any known kind, recognised by its content, conversation by conversation."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

from specchat.errors import UnreadableExport
from specchat.files import open_regular
from specchat.imports import chatgpt, lm_studio, open_webui, oterm
from specchat.imports.json_stream import elements
from specchat.imports.records import ImportedChat

MOST_BYTES = 4 * 2**30
"""The most bytes of a file, also of one in an archive, unpacked."""

_SQLITE = b"SQLite format 3\0"
_IN_ARCHIVE = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_IN_FOLDER = ("*.conversation.json", "conversations.json", "conversations-*.json", "chat-export-*.json")

_READERS: Sequence[tuple[Callable[[Mapping[str, Any]], bool], Callable[[Mapping[str, Any]], ImportedChat]]] = (
    (chatgpt.is_chat, chatgpt.read_chat),
    (open_webui.is_chat, open_webui.read_chat),
    (lm_studio.is_chat, lm_studio.read_chat),
)
_KNOWN = "it is not an export of ChatGPT, Open WebUI, LM Studio or oterm"


@dataclass(frozen=True, slots=True)
class SkippedChat:
    """A conversation that cannot be read: its number in the file, from 1, and the reason."""

    number: int
    reason: str


def files_in(path: Path) -> list[Path]:
    """The exports that a path stands for: itself, or those below a folder. Raises UnreadableExport if it has none."""
    if not path.is_dir():
        return [path]
    files = sorted({file for pattern in _IN_FOLDER for file in path.rglob(pattern) if file.is_file()})
    if not files:
        raise UnreadableExport(
            f"{path}: this folder has no conversations.json, chat-export-*.json or *.conversation.json"
        )
    return files


def read_export(path: Path) -> Iterator[ImportedChat | SkippedChat]:
    """The conversations of a file, and those that it has but that cannot be read.

    Raises UnreadableExport, which names the file, if the file as a whole cannot be read; some of its conversations may
    have been returned by then.
    """
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size > MOST_BYTES:
                raise UnreadableExport("it is larger than 4 GB")
            begins = file.read(len(_SQLITE))
            if begins == _SQLITE:
                yield from oterm.read_chats(path)
            elif is_zipfile(file):
                yield from _in_archive(file)
            else:
                file.seek(0)
                yield from _in_json(file)
    except UnreadableExport as error:
        raise UnreadableExport(f"{path}: {error}") from None
    except OSError as error:
        raise UnreadableExport(f"{path}: {error.strerror or error}") from None


def _in_archive(file: IO[bytes]) -> Iterator[ImportedChat | SkippedChat]:
    with _archive_errors(), ZipFile(file) as archive:
        names = [name for name in archive.namelist() if _IN_ARCHIVE.fullmatch(name)]
        if not names:
            raise UnreadableExport("there is no conversations.json in this archive")
        for name in sorted(names):
            if archive.getinfo(name).file_size > MOST_BYTES:
                raise UnreadableExport(f"{name} in this archive is larger than 4 GB")
            with archive.open(name) as member:
                yield from _in_json(member)


@contextmanager
def _archive_errors() -> Iterator[None]:
    """Turns what an archive raises that is damaged, encrypted or packed in an unknown way into UnreadableExport."""
    try:
        yield
    except (BadZipFile, NotImplementedError, RuntimeError) as error:
        raise UnreadableExport(f"the archive cannot be read: {error}") from None


def _in_json(file: IO[bytes]) -> Iterator[ImportedChat | SkippedChat]:
    known = False
    with io.TextIOWrapper(file, encoding="utf-8-sig") as stream:
        for number, element in enumerate(elements(stream), 1):
            try:
                chat = _chat(element)
            except UnreadableExport as error:
                if not known:
                    raise
                yield SkippedChat(number, str(error))
            else:
                known = True
                yield chat


def _chat(element: object) -> ImportedChat:
    if isinstance(element, dict):
        for is_chat, read_chat in _READERS:
            if is_chat(element):
                return read_chat(element)
    raise UnreadableExport(_KNOWN)
