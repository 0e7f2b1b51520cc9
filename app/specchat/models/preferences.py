"""The user's preferences about models, in one small file: aliases, folders, the default pair, and the last pairs."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from specchat.errors import LibraryError
from specchat.files import CONFIG_BYTES, bounded_text, replace_text
from specchat.settings.paths import data_folder, expanded
from specchat_engine.codec import from_json, to_json

_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LAST_PAIRS = 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PairNames:
    """Two names, as `-m` and `-d` take them; `draft` is empty if there is none."""

    target: str
    draft: str = ""


@dataclass(frozen=True, slots=True)
class Preferences:
    """The contents of the file. `pairs` begins with the one used last; `default` None means the built-in pair."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    pairs: tuple[PairNames, ...] = ()
    default: PairNames | None = None

    def with_alias(self, alias: str, name: str) -> Preferences:
        """Adds another name for a model. Raises LibraryError for one that could be a path or a repository."""
        if not _ALIAS.fullmatch(alias) or alias.lower().endswith(".gguf"):
            raise LibraryError(f"{alias!r} cannot be an alias: use letters, digits, dots and dashes, and no .gguf")
        return replace(self, aliases={**self.aliases, alias: name})

    def without_alias(self, alias: str) -> Preferences:
        """Removes an alias. Raises LibraryError if it does not exist."""
        if alias not in self.aliases:
            known = ", ".join(sorted(self.aliases)) or "none"
            raise LibraryError(f"there is no alias {alias!r}: known are {known}")
        return replace(self, aliases={known: name for known, name in self.aliases.items() if known != alias})

    def with_folder(self, folder: Path) -> Preferences:
        """Adds a folder to search for models. Raises LibraryError if it is not a folder."""
        whole = expanded(folder).absolute()
        if not whole.is_dir():
            raise LibraryError(f"{whole} is not a folder: name one that holds .gguf files")
        return replace(self, folders=(*(known for known in self.folders if known != str(whole)), str(whole)))

    def with_default(self, pair: PairNames | None) -> Preferences:
        """Sets the pair for commands without -m; None is the built-in pair."""
        return replace(self, default=pair)

    def with_pair(self, pair: PairNames) -> Preferences:
        """Puts a pair first among the pairs used last."""
        return replace(self, pairs=(pair, *(earlier for earlier in self.pairs if earlier != pair))[:_LAST_PAIRS])


def preferences_file() -> Path:
    """The path of the file; it may not exist."""
    return data_folder() / "models.json"


def read_preferences() -> Preferences:
    """The preferences. Raises LibraryError for a file that specchat has not written; it is left alone."""
    try:
        return from_json(Preferences, json.loads(bounded_text(preferences_file(), CONFIG_BYTES)))
    except FileNotFoundError:
        return Preferences()
    except OSError as error:
        raise LibraryError(
            f"{preferences_file()} cannot be read: {error.strerror or error}; make it readable"
        ) from None
    except (ValueError, RecursionError):
        raise LibraryError(f"{preferences_file()} is not what specchat wrote: correct it, or move it away") from None


def write_preferences(preferences: Preferences) -> None:
    """Writes the preferences in one step. Raises LibraryError if that is not possible."""
    try:
        replace_text(preferences_file(), json.dumps(to_json(preferences), indent=1, ensure_ascii=False))
    except OSError as error:
        raise LibraryError(
            f"{preferences_file()} cannot be written: {error.strerror or error}; make it writable"
        ) from None


def remember_pair(target: Path, draft: Path) -> None:
    """Records a pair as the one used last. A folder that cannot be written is only logged."""
    names = [str(path.absolute()) if path.is_file() else path.as_posix() for path in (target, draft)]
    try:
        write_preferences(read_preferences().with_pair(PairNames(*names)))
    except LibraryError as error:
        _log.warning("the pair is not remembered: %s", error)
