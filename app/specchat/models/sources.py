"""The models that programs keep on this machine. Headers are not read; Ollama's manifests are."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specchat.models.cache import partials, repository_name
from specchat.models.environment import hub_environment
from specchat.models.model_files import ModelFileGroup, group, quantisation
from specchat_assets import BuiltinPairError, builtin_heads, builtin_pair

_DEEPEST = 5
_OLLAMA_MODEL = "application/vnd.ollama.image.model"
_OLLAMA_DIGEST = re.compile(r"sha256:([0-9a-f]{64})")
_LARGEST_MANIFEST = 2**20


class ModelSource(StrEnum):
    """The program that keeps a model; its name begins with it and a colon, except for the hub and own folders."""

    HUB = "hub"
    LM_STUDIO = "lmstudio"
    OLLAMA = "ollama"
    LLAMA_CPP = "llama.cpp"
    FOLDER = "folder"


@dataclass(frozen=True, slots=True)
class Found:
    """A model on this machine. `files` are all its parts in order; `problem` says why it cannot be used."""

    name: str
    source: ModelSource
    files: tuple[Path, ...]
    size: int
    quantisation: str
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _LocalFile:
    """A file in a folder. `path` is relative to that folder."""

    path: str
    size: int
    place: Path


def all_models(folders: Iterable[Path]) -> Iterator[Found]:
    """Finds all models on this machine: first in the folders of other programs, then in the user's own."""
    yield from hub_models(hub_environment().cache)
    for folder in (Path.home() / ".lmstudio" / "models", Path.home() / ".cache" / "lm-studio" / "models"):
        yield from _models_in(folder, ModelSource.LM_STUDIO)
    yield from ollama_models(ollama_folder())
    yield from _models_in(llama_cpp_folder(), ModelSource.LLAMA_CPP)
    for folder in folders:
        yield from _models_in(folder, ModelSource.FOLDER)


def built_in_models() -> list[Found]:
    """The built-in pair and its heads, named by their files; empty if they are not installed."""
    try:
        files = (*builtin_pair(), *builtin_heads())
    except BuiltinPairError:
        return []
    return [Found(path.stem, ModelSource.FOLDER, (path,), path.stat().st_size, "") for path in files]


def ollama_folder() -> Path:
    """Returns Ollama's folder: OLLAMA_MODELS, the user's, or the system service's."""
    if chosen := os.environ.get("OLLAMA_MODELS"):
        return Path(chosen)
    own, service = Path.home() / ".ollama" / "models", Path("/usr/share/ollama/.ollama/models")
    return service if not own.is_dir() and os.access(service, os.R_OK) else own


def llama_cpp_folder() -> Path:
    """The folder of `llama-cli -hf` before it used the Hugging Face cache."""
    if chosen := os.environ.get("LLAMA_CACHE"):
        return Path(chosen)
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "llama.cpp"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "llama.cpp"


def hub_models(cache: Path) -> Iterator[Found]:
    """The models in the Hugging Face cache, named USER/REPO:QUANT. Of several revisions, the newest is taken."""
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
                yield _found(f"{repository}:{label}", ModelSource.HUB, model)
        for partial in partials(folder):
            if partial.file.path not in seen:
                percent = 100 * partial.have // max(partial.file.size, 1)
                name = f"{repository}:{quantisation(partial.file.path) or Path(partial.file.path).stem}"
                problem = f"only {percent} % is downloaded: `specchat models pull {name}` downloads the rest"
                yield Found(name, ModelSource.HUB, (partial.part,), partial.have, "", problem)


def ollama_models(folder: Path) -> Iterator[Found]:
    """Ollama's models. Each name has a manifest, one of whose layers is a GGUF file among the blobs."""
    manifests = folder / "manifests"
    for manifest in sorted(path for path in manifests.glob("*/**/*") if path.is_file()):
        parts = manifest.relative_to(manifests).parts
        if len(parts) < 3 or any(part.startswith(".") for part in parts):
            continue
        name = f"{ModelSource.OLLAMA}:{_ollama_name(parts)}"
        digest = _ollama_digest(manifest)
        blob = folder / "blobs" / f"sha256-{digest}"
        if digest is None:
            problem = f"its manifest {manifest} has no model layer: pull it again with Ollama"
            yield Found(name, ModelSource.OLLAMA, (manifest,), 0, "", problem)
        elif blob.is_file():
            yield Found(name, ModelSource.OLLAMA, (blob,), blob.stat().st_size, "")
        else:
            problem = f"its blob {blob.name} is missing: pull it again with Ollama"
            yield Found(name, ModelSource.OLLAMA, (blob,), 0, "", problem)


def _ollama_name(parts: tuple[str, ...]) -> str:
    """A name as Ollama's commands print it, without `library` and Ollama's own registry."""
    *path, tag = parts
    if path[0] == "registry.ollama.ai":
        path = path[2:] if path[1] == "library" else path[1:]
    return f"{'/'.join(path)}:{tag}"


def _ollama_digest(manifest: Path) -> str | None:
    try:
        if manifest.stat().st_size > _LARGEST_MANIFEST:
            return None
        for layer in json.loads(manifest.read_text("utf-8"))["layers"]:
            match = _OLLAMA_DIGEST.fullmatch(layer["digest"]) if layer["mediaType"] == _OLLAMA_MODEL else None
            if match:
                return match[1]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return None


def _models_in(folder: Path, source: ModelSource) -> Iterator[Found]:
    for model in group(_files(folder)):
        path = Path(model.path)
        if source is ModelSource.LM_STUDIO and len(path.parts) > 2:
            name = f"{source}:{'/'.join(path.parts[:2])}:{model.quantisation or path.stem}"
        else:
            name = path.stem if source is ModelSource.FOLDER else f"{source}:{path.stem}"
        yield _found(name, source, model)


def _found(name: str, source: ModelSource, model: ModelFileGroup[_LocalFile]) -> Found:
    problem = f"its part {Path(model.missing[0]).name} is missing" if model.missing else ""
    files = tuple(file.place for file in model.files)
    return Found(name, source, files, model.size, model.quantisation, problem)


def _snapshots(folder: Path) -> list[Path]:
    """The revisions of a repository: main first, then from new to old."""
    try:
        main = (folder / "refs" / "main").read_text("utf-8").strip()
    except (OSError, ValueError):
        main = ""
    snapshots = [(snapshot.name == main, _modified(snapshot), snapshot) for snapshot in _folders(folder / "snapshots")]
    return [snapshot for *_, snapshot in sorted(snapshots, reverse=True)]


def _files(folder: Path) -> list[_LocalFile]:
    """The GGUF files in a folder, up to five levels deep. Links to files are followed, links to folders are not."""
    files: list[_LocalFile] = []
    for inside, inner, names in os.walk(folder):
        here = Path(inside)
        if len(here.relative_to(folder).parts) >= _DEEPEST:
            inner.clear()
        for name in names:
            path = here / name
            if name.lower().endswith(".gguf") and not name.startswith(".") and path.is_file():
                files.append(_LocalFile(path.relative_to(folder).as_posix(), path.stat().st_size, path))
    return sorted(files, key=lambda file: file.path)


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
