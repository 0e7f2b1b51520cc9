"""Checks model files on this machine before native code opens them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from specchat_engine.errors import HeaderError, ModelFileError
from specchat_engine.gguf.cursor import FileSource
from specchat_engine.gguf.header import Header
from specchat_engine.gguf.reader import read_header
from specchat_engine.gguf.soundness import check_loadable

_PART: Final = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf", re.DOTALL)
_MAX_PARTS: Final = 512
"""The largest published models come in some 60 files."""


def read_file(path: Path) -> Header:
    """The header of one file. Raises ModelFileError if it cannot be read, HeaderError if it is no GGUF file."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise ModelFileError(f"{path} is not a regular file: name the .gguf file itself")
        with path.open("rb") as file:
            return read_header(FileSource(file), str(path))
    except FileNotFoundError:
        raise ModelFileError(f"{path} does not exist: check the path") from None
    except IsADirectoryError:
        raise ModelFileError(f"{path} is a folder: name the .gguf file inside it") from None
    except (OSError, ValueError) as error:
        raise ModelFileError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def read_model(path: Path) -> Header:
    """The header of a model that llama.cpp can load, with the tensors of all its files.

    `path` is the file, or the first of several. Raises ModelFileError or HeaderError for anything else.
    """
    first = read_file(path)
    headers = [first, *(read_file(part) for part in part_paths(path, first)[1:])]
    for header in headers:
        check_loadable(header, str(path))
    if len(headers) == 1:
        return first
    sizes = [header.file_size or 0 for header in headers]
    return replace(first, tensors=tuple(tensor for one in headers for tensor in one.tensors), file_size=sum(sizes))


def part_paths(path: Path, header: Header) -> list[Path]:
    """All files of the model whose first file this is. Raises HeaderError if it is not the first."""
    count = header.split_count
    if count == 1:
        return [path]
    match = _PART.fullmatch(path.name)
    if not match or int(match[3]) != count or not 1 < count <= _MAX_PARTS:
        raise HeaderError(f"{path} is one of {count} files: keep their names, NAME-00001-of-{count:05d}.gguf and so on")
    stem, number, last = match.groups()
    if int(number) != 1:
        raise HeaderError(f"{path} is file {int(number)} of {count}: name the first, {stem}-00001-of-{last}.gguf")
    return [path.with_name(f"{stem}-{number:05d}-of-{last}.gguf") for number in range(1, count + 1)]
