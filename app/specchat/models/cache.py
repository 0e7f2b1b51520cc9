"""The Hugging Face cache: where a file of the hub belongs, and how it gets there in one step.

models--USER--REPO/blobs/DIGEST             the bytes
models--USER--REPO/blobs/DIGEST.part        a download that is not complete
models--USER--REPO/blobs/DIGEST.part.json   which file it belongs to
models--USER--REPO/snapshots/COMMIT/PATH    a link to the blob
models--USER--REPO/refs/main                the commit
.locks/models--USER--REPO/DIGEST.lock       held during a download, also by huggingface_hub
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from specchat.files import load_json, replace_text
from specchat.models.environment import HubEnvironment
from specchat.models.model_files import HubFile

PART = ".part"
_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class CachePaths:
    """The paths that belong to one file."""

    blob: Path
    part: Path
    note: Path
    snapshot: Path
    ref: Path
    lock: Path


@dataclass(frozen=True, slots=True)
class Partial:
    """An interrupted download. `have` is the number of bytes in `part`."""

    file: HubFile
    have: int
    part: Path


def place_of(file: HubFile, environment: HubEnvironment) -> CachePaths:
    """The paths of a file. `Hub` rejects names that would lead out of the cache."""
    name = "--".join(("models", *file.repository.split("/")))
    folder = environment.cache / name
    blob = folder / "blobs" / file.digest
    return CachePaths(
        blob=blob,
        part=blob.with_name(f"{file.digest}{PART}"),
        note=blob.with_name(f"{file.digest}{PART}.json"),
        snapshot=folder.joinpath("snapshots", file.commit, *file.path.split("/")),
        ref=folder / "refs" / _BRANCH,
        lock=environment.cache / ".locks" / name / f"{file.digest}.lock",
    )


def repository_name(folder: str) -> str:
    """The repository that a folder of the cache belongs to; empty for other folders."""
    kind, _, name = folder.partition("--")
    return name.replace("--", "/", 1) if kind == "models" else ""


def is_installed(file: HubFile, paths: CachePaths) -> bool:
    """True if the complete file is in its snapshot."""
    return _size(paths.snapshot) == file.size


def has_blob(file: HubFile, paths: CachePaths) -> bool:
    """True if the complete bytes are there, with or without a snapshot that links to them."""
    return _size(paths.blob) == file.size


def bytes_here(file: HubFile, environment: HubEnvironment) -> int:
    """How many bytes of a file are on this machine, complete or not."""
    paths = place_of(file, environment)
    sizes = (_size(path) for path in (paths.snapshot, paths.blob, paths.part))
    return min(next((size for size in sizes if size is not None), 0), file.size)


def install(file: HubFile, paths: CachePaths, *, symlinks: bool) -> Path:
    """Moves the finished part or the blob to its snapshot in one step and returns that path. Raises OSError."""
    if paths.part.exists():
        paths.part.replace(paths.blob)
        _sync_folder(paths.blob.parent)
    paths.snapshot.parent.mkdir(parents=True, exist_ok=True)
    if not is_installed(file, paths):
        beside = paths.snapshot.with_name(f".{paths.snapshot.name}.{os.getpid()}")
        beside.unlink(missing_ok=True)
        # A blob that is a link itself points into the store that huggingface_hub shares between repositories.
        may_link = symlinks or paths.blob.is_symlink()
        if may_link and _linked(os.path.relpath(paths.blob, paths.snapshot.parent), beside):
            beside.replace(paths.snapshot)
        else:
            paths.blob.replace(paths.snapshot)
        _sync_folder(paths.snapshot.parent)
    replace_text(paths.ref, file.commit)
    paths.note.unlink(missing_ok=True)
    return paths.snapshot


def write_note(file: HubFile, paths: CachePaths) -> None:
    """Records which file the part belongs to. Raises OSError."""
    replace_text(paths.note, json.dumps(asdict(file)))


def partials(folder: Path) -> Iterator[Partial]:
    """The interrupted downloads in a repository's folder."""
    for part in sorted(folder.glob(f"blobs/*{PART}")):
        try:
            file = load_json(part.with_name(f"{part.name}.json"), HubFile)
            if file is not None and part.name == f"{file.digest}{PART}":
                yield Partial(file, part.stat().st_size, part)
        except OSError:
            continue


def discard_part(part: Path) -> None:
    """Removes an interrupted download and its note. Raises OSError."""
    part.unlink(missing_ok=True)
    part.with_name(f"{part.name}.json").unlink(missing_ok=True)


def discard_empty_part(part: Path) -> None:
    """Removes a download of which nothing has arrived. Raises OSError."""
    if not _size(part):
        discard_part(part)


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _linked(to: str, link: Path) -> bool:
    try:
        link.symlink_to(to)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Makes a rename survive a power cut, on systems that support it."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
