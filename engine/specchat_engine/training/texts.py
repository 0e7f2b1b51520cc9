"""Turns text files into documents to learn from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from specchat_engine.errors import SettingError
from specchat_engine.training.packing import Document

_LARGEST = 64 * 2**20
"""Larger files are data rather than texts."""


class Tokenizer(Protocol):
    """What documents need of a vocabulary."""

    @property
    def adds_bos(self) -> bool:
        """Whether a text begins with the beginning-of-sequence token."""

    def tokenize(self, text: str, *, special: bool, add_bos: bool = False) -> list[int]:
        """The ids of a text."""


def text_files(paths: Sequence[Path]) -> list[Path]:
    """The files among these paths and in these folders. Raises SettingError for a path that is neither."""
    found: list[Path] = []
    for path in paths:
        if path.is_dir():
            found += sorted(file for file in path.rglob("*") if file.is_file() and not _is_hidden(file, path))
        elif path.is_file():
            found.append(path)
        else:
            raise SettingError(f"the data {path} does not exist: name text files or folders with text files")
    return found


def read_texts(paths: Sequence[Path]) -> tuple[list[str], int]:
    """The texts of these files and folders, and how many files in folders were left out because they are no text.

    Raises SettingError for a file that was named and is no UTF-8 text, or cannot be read.
    """
    named = {path for path in paths if not path.is_dir()}
    texts, left_out = [], 0
    for file in text_files(paths):
        try:
            if file.stat().st_size > _LARGEST:
                raise SettingError(f"the data {file} has more than {_LARGEST // 2**20} MiB: split it")
            text = file.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            if file in named:
                reason = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else error.strerror
                raise SettingError(f"the data {file} cannot be read: {reason}") from None
            left_out += 1
            continue
        if text.strip():
            texts.append(text)
    if not texts:
        raise SettingError(
            f"there is no text in {', '.join(map(str, paths))}: name UTF-8 text files or folders of them"
        )
    return texts, left_out


def documents_of(texts: Iterable[str], tokenizer: Tokenizer, longest: int) -> Iterator[Document]:
    """The texts in documents of at most `longest` tokens, of which every token is learned."""
    for text in texts:
        ids = tokenizer.tokenize(text, special=False, add_bos=tokenizer.adds_bos)
        for start in range(0, len(ids), longest):
            part = ids[start : start + longest]
            if len(part) > 1:
                yield Document(part, [True] * len(part))


def _is_hidden(file: Path, folder: Path) -> bool:
    return any(part.startswith(".") for part in file.relative_to(folder).parts)
