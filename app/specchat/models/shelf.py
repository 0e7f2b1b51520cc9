"""What the user has said about models: aliases, folders, the pairs used last, the default pair. One small file."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from specchat.errors import LibraryError
from specchat.files import replace_text
from specchat.settings.paths import data_folder, expanded

_ALIAS = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_LAST_PAIRS = 20

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two names, as `-m` and `-d` take them; `draft` empty where there is none."""

    target: str
    draft: str = ""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Everything in that file. `pairs` has the one used last first; `default` None means the built-in pair."""

    aliases: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[str, ...] = ()
    pairs: tuple[Pair, ...] = ()
    default: Pair | None = None

    def with_alias(self, alias: str, name: str) -> Shelf:
        """Another name for a model. Raises LibraryError for one that could be a path or a repository."""
        if not _ALIAS.fullmatch(alias) or alias.lower().endswith(".gguf"):
            raise LibraryError(f"{alias!r} cannot be an alias: use letters, digits, dots and dashes, and no .gguf")
        return replace(self, aliases={**self.aliases, alias: name})

    def without_alias(self, alias: str) -> Shelf:
        """Forgets an alias. Raises LibraryError where there is none such."""
        if alias not in self.aliases:
            known = ", ".join(sorted(self.aliases)) or "none"
            raise LibraryError(f"there is no alias {alias!r}: known are {known}")
        return replace(self, aliases={one: name for one, name in self.aliases.items() if one != alias})

    def with_folder(self, folder: Path) -> Shelf:
        """One more folder in which to look. Raises LibraryError where it is none."""
        whole = expanded(folder).absolute()
        if not whole.is_dir():
            raise LibraryError(f"{whole} is no folder: name one that holds .gguf files")
        return replace(self, folders=(*(one for one in self.folders if one != str(whole)), str(whole)))

    def with_default(self, pair: Pair | None) -> Shelf:
        """The pair of commands without -m; None is the built-in one."""
        return replace(self, default=pair)

    def with_pair(self, pair: Pair) -> Shelf:
        """Remembers a pair as the one used last."""
        return replace(self, pairs=(pair, *(one for one in self.pairs if one != pair))[:_LAST_PAIRS])


def shelf_file() -> Path:
    """Where it is kept; it need not exist."""
    return data_folder() / "models.json"


def read_shelf() -> Shelf:
    """What was kept. Raises LibraryError for a file that is none of ours, which is left alone."""
    try:
        kept = json.loads(shelf_file().read_text("utf-8"))
    except FileNotFoundError:
        return Shelf()
    except OSError as error:
        raise LibraryError(f"{shelf_file()} cannot be read: {error.strerror or error}; make it readable") from None
    except (ValueError, RecursionError):
        raise _broken() from None
    try:
        default = kept.get("default")
        return Shelf(
            aliases={_text(alias): _text(name) for alias, name in kept.get("aliases", {}).items()},
            folders=tuple(_text(folder) for folder in kept.get("folders", ())),
            pairs=tuple(_pair(pair) for pair in kept.get("pairs", ())),
            default=None if default is None else _pair(default),
        )
    except (AttributeError, KeyError, TypeError):
        raise _broken() from None


def keep_shelf(shelf: Shelf) -> None:
    """Writes it in one step. Raises LibraryError where that is not possible."""
    kept = {
        "aliases": dict(shelf.aliases),
        "folders": list(shelf.folders),
        "pairs": [{"target": pair.target, "draft": pair.draft} for pair in shelf.pairs],
        "default": {"target": shelf.default.target, "draft": shelf.default.draft} if shelf.default else None,
    }
    try:
        replace_text(shelf_file(), json.dumps(kept, indent=1, ensure_ascii=False))
    except OSError as error:
        raise LibraryError(f"{shelf_file()} cannot be written: {error.strerror or error}; make it writable") from None


def remember_pair(target: Path, draft: Path) -> None:
    """Keeps a pair, as it was named, as the one used last; a folder that cannot be written costs nothing but that."""
    names = [str(one.absolute()) if one.is_file() else one.as_posix() for one in (target, draft)]
    try:
        keep_shelf(read_shelf().with_pair(Pair(*names)))
    except LibraryError as error:
        _log.warning("the pair is not remembered: %s", error)


def _pair(kept: Mapping[str, object]) -> Pair:
    return Pair(_text(kept["target"]), _text(kept["draft"]))


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _broken() -> LibraryError:
    return LibraryError(f"{shelf_file()} is not what specchat wrote: correct it, or move it away")
