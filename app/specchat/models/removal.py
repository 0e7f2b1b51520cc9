"""Removing a model from this machine."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.cache import PART, repository_name
from specchat.models.sources import Found, ModelSource


def check_removable(model: Found) -> None:
    """Raises LibraryError for a model that another program has to remove."""
    if model.source is ModelSource.OLLAMA:
        name = model.name.removeprefix(f"{ModelSource.OLLAMA}:")
        raise LibraryError(f"{model.name} belongs to Ollama: remove it with `ollama rm {name}`")


def remove(model: Found) -> None:
    """Removes a model's files and, in the Hugging Face cache, the bytes that nothing else links to.

    Raises LibraryError if that is not allowed or not possible.
    """
    check_removable(model)
    try:
        folder = _cache_folder(model.files[0])
        if folder is not None:
            _remove_shared(model.files, folder)
        for file in model.files:
            for path in [*_with_its_bytes(file, folder)]:
                path.unlink(missing_ok=True)
        if folder is not None:
            _remove_empty(folder)
    except OSError as error:
        raise LibraryError(f"{error.filename} cannot be removed: {error.strerror or error}") from None


def _remove_shared(files: tuple[Path, ...], folder: Path) -> None:
    """Lets huggingface_hub remove files whose bytes it may share between repositories: only it knows who uses them."""
    if not any(blob is not None and blob.is_symlink() for blob in map(_blob_of, files)):
        return
    from huggingface_hub import scan_cache_dir

    cache = scan_cache_dir(folder.parent)
    cached = [file for repo in cache.repos for revision in repo.revisions for file in revision.files]
    cache.delete_files(*(file for file in cached if file.file_path in files)).execute()


def _with_its_bytes(file: Path, folder: Path | None) -> Iterator[Path]:
    """The file, the note of a part, and the blob that a link leads to unless another revision uses it."""
    blob = _blob_of(file)
    yield file
    if file.name.endswith(PART):
        yield file.with_name(f"{file.name}.json")
    elif folder is not None and blob is not None and blob.parent.resolve() == (folder / "blobs").resolve():
        links = (path for path in folder.glob("snapshots/*/**/*") if path.is_symlink() and path != file)
        if not any(_blob_of(path) == blob for path in links):
            yield blob


def _blob_of(file: Path) -> Path | None:
    """Where a link leads in one step; None for a file that is not a link."""
    if not file.is_symlink():
        return None
    return Path(os.path.normpath(file.parent / file.readlink()))


def _cache_folder(file: Path) -> Path | None:
    return next((folder for folder in file.parents if repository_name(folder.name)), None)


def _remove_empty(folder: Path) -> None:
    """Removes revisions without files, the names of such revisions, and a repository without revisions."""
    left = [path for path in folder.rglob("*") if path.is_symlink() or path.is_file()]
    if not any(path.parent.name == "blobs" or folder / "snapshots" in path.parents for path in left):
        shutil.rmtree(folder)
        return
    for empty in sorted((path for path in folder.glob("snapshots/**/") if not any(path.iterdir())), reverse=True):
        empty.rmdir()
    for ref in folder.glob("refs/**/*"):
        if ref.is_file() and not (folder / "snapshots" / ref.read_text("utf-8").strip()).is_dir():
            ref.unlink()
