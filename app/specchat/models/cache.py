"""The Hugging Face cache: where a file of the hub lies in it, and how it gets there in one step.

models--USER--REPO/blobs/DIGEST                    the bytes
models--USER--REPO/blobs/DIGEST.part               those that have arrived so far
models--USER--REPO/blobs/DIGEST.part.json          what they are of
models--USER--REPO/snapshots/COMMIT/PATH           a link to the blob
models--USER--REPO/refs/main                       the commit
.locks/models--USER--REPO/DIGEST.lock              whoever downloads it, huggingface_hub included
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from specchat.files import replace_text
from specchat.models.environment import HubEnvironment
from specchat.models.hub_files import HubFile, is_digest, is_safe_path

PART = ".part"
_BRANCH = "main"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file goes."""

    blob: Path
    part: Path
    note: Path
    snapshot: Path
    ref: Path
    lock: Path


@dataclass(frozen=True, slots=True)
class Partial:
    """A download that was interrupted: `have` of its bytes lie in the part. `validator` is the server's own etag."""

    file: HubFile
    validator: str
    have: int
    part: Path


def place_of(file: HubFile, environment: HubEnvironment) -> Place:
    """The paths of a file; `Hub` lets no names through that would lead out of the cache."""
    name = folder_name(file.repository)
    folder = environment.cache / name
    blob = folder / "blobs" / file.digest
    return Place(
        blob=blob,
        part=blob.with_name(f"{file.digest}{PART}"),
        note=blob.with_name(f"{file.digest}{PART}.json"),
        snapshot=folder.joinpath("snapshots", file.commit, *file.path.split("/")),
        ref=folder / "refs" / _BRANCH,
        lock=environment.cache / ".locks" / name / f"{file.digest}.lock",
    )


def folder_name(repository: str) -> str:
    """The folder of a repository."""
    return "--".join(("models", *repository.split("/")))


def repository_name(folder: str) -> str:
    """The repository of a folder, empty for another kind of folder."""
    kind, _, name = folder.partition("--")
    return name.replace("--", "/", 1) if kind == "models" else ""


def is_installed(file: HubFile, place: Place) -> bool:
    """Whether the whole file is in its place."""
    try:
        return place.snapshot.stat().st_size == file.size
    except OSError:
        return False


def install(file: HubFile, place: Place, *, symlinks: bool) -> Path:
    """Puts the finished part or, without one, the blob into its place; nobody sees anything in between.

    Returns the snapshot's path. Raises OSError.
    """
    if place.part.exists():
        place.part.replace(place.blob)
        _sync_folder(place.blob.parent)
    place.snapshot.parent.mkdir(parents=True, exist_ok=True)
    if not is_installed(file, place):
        beside = place.snapshot.with_name(f".{place.snapshot.name}.{os.getpid()}")
        beside.unlink(missing_ok=True)
        if symlinks and _linked(os.path.relpath(place.blob, place.snapshot.parent), beside):
            beside.replace(place.snapshot)
        else:
            place.blob.replace(place.snapshot)
        _sync_folder(place.snapshot.parent)
    replace_text(place.ref, file.commit)
    place.note.unlink(missing_ok=True)
    return place.snapshot


def note_down(file: HubFile, place: Place, validator: str) -> None:
    """Keeps what the part is of, and which version of it the server sends. Raises OSError."""
    replace_text(place.note, json.dumps({**asdict(file), "validator": validator}))


def partials(folder: Path) -> Iterator[Partial]:
    """The interrupted downloads in a repository's folder."""
    for part in sorted(folder.glob(f"blobs/*{PART}")):
        try:
            kept = json.loads(part.with_name(f"{part.name}.json").read_text("utf-8"))
            file = _file_from(kept)
            if file is not None and part.name == f"{file.digest}{PART}":
                yield Partial(file, str(kept.get("validator") or ""), part.stat().st_size, part)
        except (OSError, ValueError, RecursionError):
            continue


def discard(partial: Partial) -> None:
    """Removes an interrupted download. Raises OSError."""
    partial.part.unlink(missing_ok=True)
    partial.part.with_name(f"{partial.part.name}.json").unlink(missing_ok=True)


def _file_from(kept: object) -> HubFile | None:
    if not isinstance(kept, Mapping):
        return None
    repository, commit, path, size, digest = (
        kept.get(key) for key in ("repository", "commit", "path", "size", "digest")
    )
    texts = isinstance(repository, str) and isinstance(commit, str) and isinstance(path, str)
    if not texts or not is_digest(digest) or not isinstance(size, int) or not is_safe_path(str(path)):
        return None
    return HubFile(str(repository), str(commit), str(path), size, str(digest))


def _linked(to: str, link: Path) -> bool:
    try:
        link.symlink_to(to)
    except OSError:
        return False
    return True


def _sync_folder(folder: Path) -> None:
    """Makes a rename last through a power cut, where the system can."""
    if os.name != "posix":
        return
    opened = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
