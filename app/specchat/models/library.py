"""The list of the models on this machine, with the main facts from each header."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specchat.files import load_json, save_json
from specchat.models.names import without_duplicates
from specchat.models.preferences import Preferences, read_preferences
from specchat.models.sources import Found, ModelSource, all_models, built_in_models
from specchat.settings.paths import cache_folder
from specchat_engine.errors import ModelFileError
from specchat_engine.gguf import GgufHeader, read_model

_SCHEMA = 1


@dataclass(frozen=True, slots=True)
class HeaderSummary:
    """The main facts from a header. `problem` says why the file cannot be used; the rest is empty then."""

    title: str = ""
    architecture: str = ""
    parameters: int = 0
    quantisation: str = ""
    context: int = 0
    layers: int = 0
    vocabulary: int = 0
    tokenizer: str = ""
    has_template: bool = False
    problem: str = ""


@dataclass(frozen=True, slots=True)
class LibraryModel:
    """A model on this machine. `aliases` are the names that the user gave it."""

    found: Found
    summary: HeaderSummary
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name that `-m` takes."""
        return self.found.name

    @property
    def path(self) -> Path:
        """The file that the engine loads."""
        return self.found.files[0]

    @property
    def size(self) -> int:
        """The size of all parts together, in bytes."""
        return self.found.size

    @property
    def quantisation(self) -> str:
        """The quantisation in the name, or else in the header."""
        return self.found.quantisation or self.summary.quantisation

    @property
    def problem(self) -> str:
        """Why the model cannot be used; empty if it can."""
        return self.found.problem or self.summary.problem


def models() -> list[LibraryModel]:
    """Returns the models of all programs and folders, unusable ones with the reason. Raises LibraryError."""
    preferences = read_preferences()
    summaries = SummaryCache()
    files = without_duplicates(all_models(Path(folder) for folder in preferences.folders))
    entries = [_entry(file, summaries, preferences) for file in files]
    summaries.save()
    return entries


def loadable_models(also: Iterable[Path] = ()) -> list[LibraryModel]:
    """The files in `also`, the built-in pair and its heads, then the library, usable models first.

    Each file is listed once, or under each of its tags in Ollama. Blocks while headers are read. Raises LibraryError.
    """
    library = models()
    known = {entry.path.resolve() for entry in library}
    built_in = (model.files[0] for model in built_in_models())
    summaries = SummaryCache()
    others = dict.fromkeys(path for path in (*also, *built_in) if path.resolve() not in known and path.is_file())
    entries = [
        LibraryModel(Found(path.stem, ModelSource.FOLDER, (path,), path.stat().st_size, ""), summaries.get(path))
        for path in others
    ]
    summaries.save()
    return [*entries, *sorted(library, key=lambda entry: bool(entry.problem))]


@dataclass(frozen=True, slots=True)
class _Cached:
    """A summary, and the size and time of the file that it was made from."""

    mark: tuple[int, int]
    summary: HeaderSummary


@dataclass(frozen=True, slots=True)
class _Headers:
    schema: int
    headers: Mapping[str, _Cached]


class SummaryCache:
    """Summaries by path, kept on the disk. A header is read again if the file's size or time has changed."""

    def __init__(self) -> None:
        self._file = cache_folder() / "headers.json"
        stored = load_json(self._file, _Headers)
        self._cached = dict(stored.headers) if stored and stored.schema == _SCHEMA else {}
        self._changed = False

    def get(self, path: Path) -> HeaderSummary:
        """The summary of a model; `path` is its first file."""
        try:
            stat = path.stat()
        except OSError as error:
            return HeaderSummary(problem=f"{path} cannot be read: {error.strerror or error}")
        mark = (stat.st_size, stat.st_mtime_ns)
        cached = self._cached.get(str(path))
        if cached and cached.mark == mark:
            return cached.summary
        try:
            summary = _summary(read_model(path))
        except ModelFileError as error:
            summary = HeaderSummary(problem=str(error))
        self._cached[str(path)] = _Cached(mark, summary)
        self._changed = True
        return summary

    def save(self) -> None:
        """Writes new summaries and drops those of files that are gone. A folder that cannot be written is logged."""
        if self._changed:
            present = {path: cached for path, cached in self._cached.items() if Path(path).exists()}
            save_json(self._file, _Headers(_SCHEMA, present))


def _entry(found: Found, summaries: SummaryCache, preferences: Preferences) -> LibraryModel:
    aliases = tuple(alias for alias, name in preferences.aliases.items() if name in (found.name, str(found.files[0])))
    return LibraryModel(found, HeaderSummary() if found.problem else summaries.get(found.files[0]), aliases)


def _summary(header: GgufHeader) -> HeaderSummary:
    return HeaderSummary(
        title=header.name or "",
        architecture=header.architecture,
        parameters=header.n_params,
        quantisation=header.quantisation,
        context=header.n_ctx_train,
        layers=header.layers,
        vocabulary=header.n_vocab,
        tokenizer=" ".join(part for part in (header.tokenizer, header.pre_tokenizer) if part),
        has_template=header.chat_template is not None,
    )
