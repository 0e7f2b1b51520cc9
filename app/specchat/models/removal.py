"""Taking a model off this machine."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.cache import PART, repository_name
from specchat.models.sources import Found, Source


def check_removable(found: Found) -> None:
    """Raises LibraryError for a model that another program has to remove."""
    if found.source is Source.OLLAMA:
        name = found.name.removeprefix(f"{Source.OLLAMA}:")
        raise LibraryError(f"{found.name} belongs to Ollama: remove it with `ollama rm {name}`")


def remove(found: Found) -> None:
    """Removes a model's files and, in the Hugging Face cache, the bytes that nothing else links to.

    Raises LibraryError where that is not allowed or not possible.
    """
    check_removable(found)
    try:
        for file in found.files:
            for path in [*_with_its_bytes(file)]:
                path.unlink(missing_ok=True)
        if folder := _cache_folder(found.files[0]):
            _tidy(folder)
    except OSError as error:
        raise LibraryError(f"{error.filename} cannot be removed: {error.strerror or error}") from None


def _with_its_bytes(file: Path) -> Iterator[Path]:
    """The file; behind a link of the cache also its blob, unless another revision has it; the note beside a part."""
    folder = _cache_folder(file)
    blob = file.resolve()
    yield file
    if file.name.endswith(PART):
        yield file.with_name(f"{file.name}.json")
    elif folder and blob.parent == (folder / "blobs").resolve():
        links = (path for path in folder.glob("snapshots/*/**/*") if path.is_symlink() and path != file)
        if not any(path.resolve() == blob for path in links):
            yield blob


def _cache_folder(file: Path) -> Path | None:
    return next((folder for folder in file.parents if repository_name(folder.name)), None)


def _tidy(folder: Path) -> None:
    """Leaves no revision without files and no name for one, and no repository without revisions."""
    left = [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
    if not any(path.parent.name == "blobs" or folder / "snapshots" in path.parents for path in left):
        shutil.rmtree(folder)
        return
    for empty in sorted((path for path in folder.glob("snapshots/**/") if not any(path.iterdir())), reverse=True):
        empty.rmdir()
    for ref in folder.glob("refs/**/*"):
        if ref.is_file() and not (folder / "snapshots" / ref.read_text("utf-8").strip()).is_dir():
            ref.unlink()
