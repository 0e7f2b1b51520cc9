"""Texts that the user keeps for later, prompts and roles: one Markdown file for each, whose stem is the name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from specchat.errors import ConfigError, FileTooLarge
from specchat.files import bounded_text, replace_text
from specchat.settings.paths import prompts_folder, roles_folder
from specchat.terminal.filter import clean_line

_SUFFIX = ".md"
_NAME = re.compile(r"\w[\w.-]{0,39}")
_RESERVED = frozenset({"save", "forget", "none"})
_MOST_BYTES = 256 * 1024
_FIRST_LINE_BYTES = 400


def saved_prompts() -> SavedTexts:
    """The prompts of this user."""
    return SavedTexts(prompts_folder(), "prompt")


def saved_roles() -> SavedTexts:
    """The system prompts of this user."""
    return SavedTexts(roles_folder(), "role")


class SavedTexts:
    """The texts in a folder, which need not exist. `what` names one of them in messages."""

    def __init__(self, folder: Path, what: str) -> None:
        self._folder = folder
        self._what = what

    def names(self) -> list[tuple[str, str]]:
        """The name of each text and its first line, by name; none if the folder cannot be read."""
        return [(file.stem, _first_line(file)) for file in self._files()]

    def listed(self, head: str) -> str:
        """The names, one a line after `head`. Raises ConfigError if nothing is stored."""
        names = self.names()
        if not names:
            raise ConfigError(f"nothing is stored yet: /{self._what} save NAME")
        return "\n".join([head, *(f"{name}: {line}" if line else name for name, line in names)])

    def read(self, name: str) -> str:
        """The text of this name. Raises ConfigError if there is none, or if it is not text or too large."""
        file = self._path(name)
        try:
            text = bounded_text(file, _MOST_BYTES).strip()
        except FileNotFoundError:
            raise ConfigError(f"there is no {self._what} {name}: /{self._what} lists them") from None
        except FileTooLarge:
            raise ConfigError(f"{file} has more than {_MOST_BYTES // 1024} KiB: make it shorter") from None
        except UnicodeDecodeError:
            raise ConfigError(f"{file} is not text in UTF-8: correct it, or remove it") from None
        except OSError as error:
            raise ConfigError(f"{file} cannot be read: {error.strerror or error}; check it") from None
        if not text:
            raise ConfigError(f"{file} is empty: write the {self._what} into it, or remove it")
        return text

    def save(self, name: str, text: str) -> Path:
        """Stores a text and returns its file.

        Raises ConfigError for a name that it cannot have or that another text has, and if it cannot be written.
        """
        file = self._path(name)
        if file.exists():
            raise ConfigError(f"there is a {self._what} {name} already: /{self._what} forget {name} removes it")
        try:
            replace_text(file, text.strip() + "\n")
        except OSError as error:
            raise ConfigError(f"{file} cannot be written: {error.strerror or error}; check its folder") from None
        return file

    def forget(self, name: str) -> None:
        """Removes a text. Raises ConfigError if there is none, or if it cannot be removed."""
        file = self._path(name)
        try:
            file.unlink()
        except FileNotFoundError:
            raise ConfigError(f"there is no {self._what} {name}: /{self._what} lists them") from None
        except OSError as error:
            raise ConfigError(f"{file} cannot be removed: {error.strerror or error}; check its folder") from None

    def name_of(self, text: str) -> str | None:
        """The name of the text that equals this one; None if there is none."""
        for file in self._files():
            with suppress(ConfigError):
                if self.read(file.stem) == text.strip():
                    return file.stem
        return None

    def _path(self, name: str) -> Path:
        if not _NAME.fullmatch(name) or name.casefold() in _RESERVED:
            raise ConfigError(
                f"a {self._what} cannot be named {clean_line(name)!r}: use 1 to 40 letters, digits, dots or dashes"
            )
        return self._folder / f"{name}{_SUFFIX}"

    def _files(self) -> Iterator[Path]:
        with suppress(OSError):
            files = [file for file in self._folder.iterdir() if file.suffix == _SUFFIX and _NAME.fullmatch(file.stem)]
            yield from sorted(files, key=lambda file: file.stem.casefold())


def _first_line(file: Path) -> str:
    with suppress(OSError), file.open("rb") as opened:
        text = opened.read(_FIRST_LINE_BYTES).decode("utf-8-sig", errors="replace")
        return clean_line(text.lstrip().partition("\n")[0]).lstrip("# ")
    return ""
