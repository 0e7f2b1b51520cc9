"""Which model on this machine a name means. Headers are not read."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.model_files import choose, group
from specchat.models.preferences import read_preferences
from specchat.models.sources import Found, ModelSource, all_models, built_in_models
from specchat.settings.paths import expanded

_MOST_SHOWN = 4


class UnknownModelError(LibraryError):
    """No model on this machine has the name."""


def find_path(name: str) -> Path:
    """The file that `-m` or `-d` means by a path, an alias, or a model's name. Raises LibraryError with similar names.

    The built-in models have the names that the screen shows, unless another model has them.
    A name that is written like a path is a path, even if there is no such file: the engine reports what is wrong.
    """
    path = expanded(Path(name))
    if path.is_file() or path.is_absolute() or name.startswith((".", "~")):
        return path
    if name.lower().endswith(".gguf") and not name.startswith(f"{ModelSource.LLAMA_CPP}:"):
        return path
    try:
        model = find(name)
    except UnknownModelError:
        if not (built_in := _matching(name.replace(" ", "-"), built_in_models())):
            raise
        model = built_in[0]
    if model.problem:
        raise LibraryError(f"{model.name} cannot be used: {model.problem}")
    return model.files[0]


def find(name: str) -> Found:
    """The model with this name or alias. Raises LibraryError if none or several have it."""
    preferences = read_preferences()
    wanted = preferences.aliases.get(name, name)
    path = expanded(Path(wanted))
    if path.is_file():
        return Found(wanted, ModelSource.FOLDER, (path,), path.stat().st_size, "")
    known = without_duplicates(all_models(Path(folder) for folder in preferences.folders))
    matching = _matching(wanted, known)
    if len({model.files[0] for model in matching}) == 1:
        return matching[0]
    if matching:
        raise LibraryError(f"{name} can be {_list([model.name for model in matching])}: name one of them")
    names = [*preferences.aliases, *dict.fromkeys(model.name for model in known)]
    similar = difflib.get_close_matches(wanted, names, 3, 0.5)
    hint = f"similar names: {', '.join(similar)}" if similar else "see `specchat models ls`"
    if _is_repository(wanted):
        hint += f"; `specchat models pull {wanted}` downloads it"
    raise UnknownModelError(f"there is no model {name} on this machine: {hint}")


def without_duplicates(models: Iterable[Found]) -> list[Found]:
    """Each file once, under its first name, but Ollama's under each of its tags.

    Files with the same name are named by their paths, except the first.
    """
    by_file: dict[tuple[Path, str], Found] = {}
    for model in models:
        tag = model.name if model.source is ModelSource.OLLAMA else ""
        by_file.setdefault((model.files[0].absolute(), tag), model)
    names: set[str] = set()
    result = []
    for model in by_file.values():
        result.append(replace(model, name=str(model.files[0])) if model.name in names else model)
        names.add(model.name)
    return result


def _matching(wanted: str, known: Sequence[Found]) -> list[Found]:
    """The models that a name can mean, by the strictest of several readings that any model meets."""
    repository, _, label = wanted.partition(":")
    bare = wanted.removeprefix(f"{ModelSource.OLLAMA}:")

    def exact(model: Found) -> bool:
        return wanted in (model.name, f"{model.name}.gguf", model.files[0].name, model.files[0].stem)

    def same_letters(model: Found) -> bool:
        return wanted.lower() == model.name.lower()

    def ollama_latest(model: Found) -> bool:
        return model.source is ModelSource.OLLAMA and model.name in (
            f"{ModelSource.OLLAMA}:{bare}",
            f"{ModelSource.OLLAMA}:{bare}:latest",
        )

    def ollama_without_tag(model: Found) -> bool:
        return (
            model.source is ModelSource.OLLAMA
            and model.name.removeprefix(f"{ModelSource.OLLAMA}:").rpartition(":")[0] == bare
        )

    readings: tuple[Callable[[Found], bool], ...] = (exact, same_letters, ollama_latest, ollama_without_tag)
    for reading in readings:
        if matching := [model for model in known if reading(model)]:
            return matching
    if not _is_repository(wanted):
        return []
    own = [model for model in known if not model.problem and _repository(model).lower() == repository.lower()]
    by_file = {model.files[0].name: model for model in own}
    chosen = choose(group(_Named(name, model.size) for name, model in by_file.items()), label)
    return [by_file[chosen.path]] if chosen else []


@dataclass(frozen=True, slots=True)
class _Named:
    path: str
    size: int


def _repository(model: Found) -> str:
    return model.name.removeprefix(f"{ModelSource.LM_STUDIO}:").partition(":")[0] if "/" in model.name else ""


def _is_repository(name: str) -> bool:
    return name.partition(":")[0].count("/") == 1


def _list(names: Sequence[str]) -> str:
    shown = ", ".join(names[:_MOST_SHOWN])
    more = len(names) - _MOST_SHOWN
    return f"{shown} and {more} more" if more > 0 else shown
