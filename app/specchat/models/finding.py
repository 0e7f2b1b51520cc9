"""Which model on this machine a name means; no header is read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.names import choose, group
from specchat.models.shelf import read_shelf
from specchat.models.sources import Found, Source, all_models
from specchat.settings.paths import expanded


def find_path(name: str) -> Path:
    """What a command's -m or -d means: a path, an alias, or a model's name. Raises LibraryError, naming what is close.

    What is written like a path is one, whether there is such a file or not: the engine says what is wrong with it.
    """
    path = expanded(Path(name))
    if path.is_file() or path.is_absolute() or name.startswith((".", "~")) or name.lower().endswith(".gguf"):
        return path
    found = find(name)
    if found.problem:
        raise LibraryError(f"{found.name} cannot be used: {found.problem}")
    return found.files[0]


def find(name: str) -> Found:
    """The model with this name or alias, its header not read. Raises LibraryError where none or several have it."""
    shelf = read_shelf()
    wanted = shelf.aliases.get(name, name)
    path = expanded(Path(wanted))
    if path.is_file():
        return Found(wanted, Source.FOLDER, (path,), path.stat().st_size, "")
    known = once(all_models(Path(one) for one in shelf.folders))
    matching = _matching(wanted, known)
    if len(matching) == 1:
        return matching[0]
    if matching:
        raise LibraryError(f"{name} can be {_some([one.name for one in matching])}: name one of them")
    names = [*shelf.aliases, *dict.fromkeys(one.name for one in known)]
    close = difflib.get_close_matches(wanted, names, 3, 0.5)
    hint = f"close are {', '.join(close)}" if close else "see `specchat models ls`"
    if _is_repository(wanted):
        hint += f"; `specchat models pull {wanted}` fetches it"
    raise LibraryError(f"there is no model {name} on this machine: {hint}")


def once(found: Iterable[Found]) -> list[Found]:
    """Each file once, under the name that came first, and each name once."""
    by_file: dict[Path, Found] = {}
    for one in found:
        by_file.setdefault(one.files[0].absolute(), one)
    names: dict[str, int] = {}
    result = []
    for one in by_file.values():
        names[one.name] = names.get(one.name, 0) + 1
        result.append(one if names[one.name] == 1 else replace(one, name=str(one.files[0])))
    return result


def _matching(wanted: str, known: Sequence[Found]) -> list[Found]:
    """The models that a name can mean, by the strictest of these readings that any model meets."""
    repository, _, label = wanted.partition(":")
    bare = wanted.removeprefix(f"{Source.OLLAMA}:")

    def exact(one: Found) -> bool:
        return wanted in (one.name, one.files[0].name, one.files[0].stem)

    def same(one: Found) -> bool:
        return wanted.lower() == one.name.lower()

    def latest(one: Found) -> bool:
        return one.source is Source.OLLAMA and one.name in (f"{Source.OLLAMA}:{bare}", f"{Source.OLLAMA}:{bare}:latest")

    def of_ollama(one: Found) -> bool:
        return one.source is Source.OLLAMA and one.name.removeprefix(f"{Source.OLLAMA}:").rpartition(":")[0] == bare

    readings: tuple[Callable[[Found], bool], ...] = (exact, same, latest, of_ollama)
    for reading in readings:
        if found := [one for one in known if reading(one)]:
            return found
    if not _is_repository(wanted):
        return []
    own = [one for one in known if not one.problem and _repository(one).lower() == repository.lower()]
    by_file = {one.files[0].name: one for one in own}
    chosen = choose(group(_Named(name, one.size) for name, one in by_file.items()), label)
    return [by_file[chosen.path]] if chosen else []


@dataclass(frozen=True, slots=True)
class _Named:
    path: str
    size: int


def _repository(one: Found) -> str:
    return one.name.removeprefix(f"{Source.LM_STUDIO}:").partition(":")[0] if "/" in one.name else ""


def _is_repository(name: str) -> bool:
    return name.partition(":")[0].count("/") == 1


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(names[:4])
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"
