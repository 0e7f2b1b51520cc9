"""Where programs keep models on this machine, and which models lie there. Nothing is opened but manifests."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specchat.models.cache import partials, repository_name
from specchat.models.environment import hub_environment
from specchat.models.names import Group, group, quantisation
from specchat.models.ollama import ollama_models

_DEEPEST = 5


class Source(StrEnum):
    """Who keeps a model; what stands before the colon of its name."""

    HUB = "hub"
    LM_STUDIO = "lmstudio"
    OLLAMA = "ollama"
    LLAMA_CPP = "llama.cpp"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Found:
    """A model on this machine; `files` has all parts of a split one in order. `problem` is why it cannot be used."""

    name: str
    source: Source
    files: tuple[Path, ...]
    size: int
    quantisation: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Local:
    """A file below a folder, by its path there."""

    path: str
    size: int
    place: Path


def all_models(folders: Iterable[Path]) -> Iterator[Found]:
    """Everything on this machine: the caches of programs that are known, then the user's own folders."""
    yield from hub_models(hub_environment().cache)
    for folder in (Path.home() / ".lmstudio" / "models", Path.home() / ".cache" / "lm-studio" / "models"):
        yield from _below(folder, Source.LM_STUDIO)
    for one in ollama_models(ollama_folder()):
        yield Found(f"{Source.OLLAMA}:{one.name}", Source.OLLAMA, (one.path,), one.size, "", one.problem)
    yield from _below(llama_cpp_folder(), Source.LLAMA_CPP)
    for folder in folders:
        yield from _below(folder, Source.FOLDER)


def ollama_folder() -> Path:
    """Ollama's models: the user's, or those of the service."""
    if chosen := os.environ.get("OLLAMA_MODELS"):
        return Path(chosen)
    own, service = Path.home() / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models")
    return service if not own.is_dir() and os.access(service, os.R_OK) else own


def llama_cpp_folder() -> Path:
    """Where `llama-cli -hf` kept its downloads before it used the Hugging Face cache."""
    if chosen := os.environ.get("LLAMA_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "llama.cpp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llama.cpp"


def hub_models(cache: Path) -> Iterator[Found]:
    """The models of the Hugging Face cache, named USER/REPO:QUANT; of several revisions the newest that has a model."""
    for folder in _folders(cache):
        repository = repository_name(folder.name)
        if not repository:
            continue
        seen: set[str] = set()
        for snapshot in _snapshots(folder):
            for model in group(_files(snapshot)):
                if model.path in seen:
                    continue
                seen.add(model.path)
                label = model.quantisation or Path(model.path).stem
                yield _found(f"{repository}:{label}", Source.HUB, model)
        for partial in partials(folder):
            if partial.file.path not in seen:
                share = 100 * partial.have // max(partial.file.size, 1)
                name = f"{repository}:{quantisation(partial.file.path) or Path(partial.file.path).stem}"
                problem = f"{share} % of it have been downloaded: `specchat models pull {name}` fetches the rest"
                yield Found(name, Source.HUB, (partial.part,), partial.have, "", problem)


def _below(folder: Path, source: Source) -> Iterator[Found]:
    for model in group(_files(folder)):
        path = Path(model.path)
        if source is Source.LM_STUDIO and len(path.parts) > 2:
            name = f"{source}:{'/'.join(path.parts[:2])}:{model.quantisation or path.stem}"
        else:
            name = path.stem if source is Source.FOLDER else f"{source}:{path.stem}"
        yield _found(name, source, model)


def _found(name: str, source: Source, model: Group[_Local]) -> Found:
    problem = f"its part {Path(model.missing[0]).name} is missing" if model.missing else ""
    files = tuple(file.place for file in model.files)
    return Found(name, source, files, model.size, model.quantisation, problem)


def _snapshots(folder: Path) -> list[Path]:
    """A repository's revisions, main first, then from new to old."""
    try:
        main = (folder / "refs" / "main").read_text("utf-8").strip()
    except (OSError, ValueError):
        main = ""
    found = [(snapshot.name == main, _modified(snapshot), snapshot) for snapshot in _folders(folder / "snapshots")]
    return [snapshot for *_, snapshot in sorted(found, reverse=True)]


def _files(folder: Path) -> list[_Local]:
    """The GGUF files below a folder, not too deep; links to files are followed, links to folders are not."""
    found: list[_Local] = []
    for place, inner, names in os.walk(folder):
        here = Path(place)
        if len(here.relative_to(folder).parts) >= _DEEPEST:
            inner.clear()
        for name in names:
            path = here / name
            if name.lower().endswith(".gguf") and not name.startswith(".") and path.is_file():
                found.append(_Local(path.relative_to(folder).as_posix(), path.stat().st_size, path))
    return sorted(found, key=lambda file: file.path)


def _folders(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.is_dir())
    except OSError:
        return []


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
