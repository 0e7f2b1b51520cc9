"""Saves the models' prompt caches in a folder, so that a conversation can continue without being read again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from specchat_engine.errors import EngineError

_VERSION = 1
_MANIFEST = "manifest.json"


class SavedMemory(Protocol):
    """A model's memory that can be written to a file and read again."""

    @property
    def state_bytes(self) -> int:
        """How many bytes it takes."""

    def save(self, path: Path) -> None:
        """Writes it."""

    def restore(self, path: Path) -> bool:
        """Restores it; returns False and leaves it empty if that is impossible."""

    def clear(self) -> None:
        """Forgets everything."""


def save(memories: Mapping[str, SavedMemory], identity: str, folder: Path, limit: int | None = None) -> None:
    """Writes the memories, by name, over the folder's previous content; `identity` says which pair can read them.

    Raises EngineError if they take more than `limit` bytes, and changes nothing; or if they cannot be written, and then
    the folder's previous content cannot be restored either.
    """
    size = sum(memory.state_bytes for memory in memories.values())
    if limit is not None and size > limit:
        raise EngineError(
            f"the prompt caches take {size / 2**20:,.1f} MiB, more than the limit of {limit / 2**20:,.1f} MiB: they "
            "were not saved, and the conversation is read again next time"
        )
    manifest = folder / _MANIFEST
    try:
        folder.mkdir(parents=True, exist_ok=True)
        manifest.unlink(missing_ok=True)
        digests = {}
        for name, memory in memories.items():
            path = folder / f"{name}.state"
            memory.save(path)
            digests[name] = _digest(path)
        part = manifest.with_suffix(".part")
        part.write_text(json.dumps({"version": _VERSION, "identity": identity, "digests": digests}))
        part.replace(manifest)
    except OSError as error:
        raise EngineError(f"{folder}: the prompt caches cannot be saved: {error.strerror or error}") from None


def restore(memories: Mapping[str, SavedMemory], identity: str, folder: Path) -> bool:
    """Reads what `save` wrote. False, and nothing changes, if it is missing, incomplete or of another pair.

    Also False, with empty memories, if llama.cpp rejects a file.
    """
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        wanted = {"version": _VERSION, "identity": identity, "digests": manifest["digests"]}
        digests = {name: _digest(folder / f"{name}.state") for name in memories}
        if manifest != wanted or manifest["digests"] != digests:
            return False
    except (OSError, ValueError, KeyError, TypeError):
        return False
    if all(memory.restore(folder / f"{name}.state") for name, memory in memories.items()):
        return True
    for memory in memories.values():
        memory.clear()
    return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "blake2b").hexdigest()
