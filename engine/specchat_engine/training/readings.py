"""What a target has to teach about documents, read once and kept on disk in memory-mapped files.

Hidden states and log-probabilities take 16 bits each. The files grow by whole documents, so that reading goes on where
it was stopped.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from itertools import accumulate
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.teacher import Lesson

_TYPES: Final[dict[str, type[np.generic]]] = {
    "teacher_ids": np.int32,
    "teacher_log_probabilities": np.float16,
    "states": np.float16,
}
_NOTED = 64
"""After this many documents the folder notes how far the reading is."""


class Readings:
    """The lessons of documents, in a folder; `count` is how many were read."""

    def __init__(self, folder: Path, documents: Sequence[TokenDocument], about: str) -> None:
        """Goes on from what the folder has of the same documents. `about` names the target and what it hands out."""
        self._documents, self._folder = documents, folder
        self._starts = [0, *accumulate(len(document.ids) for document in documents)]
        digest = hashlib.sha256(about.encode())
        for document in documents:
            digest.update(np.asarray(document.ids, np.int32).tobytes() + bytes(document.learned))
        self._key = digest.hexdigest()
        self._note = folder / "readings.json"
        known = json.loads(self._note.read_text("utf-8")) if self._note.exists() else {}
        same = known.get("key") == self._key
        self.count: int = known["count"] if same else 0
        self._widths: dict[str, int] = known["widths"] if same else {}

    @property
    def tokens(self) -> int:
        """How many tokens were read."""
        return self._starts[self.count]

    def read(self, teach: Callable[[TokenDocument], Lesson], goes_on: Callable[[], bool]) -> None:
        """Has documents taught as long as `goes_on` says so, asked before each.

        Raises DecodeError if the target fails, and OSError if the disk is full.
        """
        with ExitStack() as stack:
            files = {name: stack.enter_context(self._opened(name)) for name in _TYPES}
            while self.count < len(self._documents) and goes_on():
                lesson = teach(self._documents[self.count])
                for name, file in files.items():
                    array = getattr(lesson, name)
                    self._widths[name] = array.shape[1]
                    file.write(array.astype(_TYPES[name]).tobytes())
                self.count += 1
                if self.count % _NOTED == 0:
                    self._save(files.values())
            self._save(files.values())

    def lessons(self) -> list[Lesson]:
        """The lessons that were read, in the order of the documents; their arrays are parts of the files."""
        arrays: dict[str, Any] = {name: self._mapped(name) for name in _TYPES}
        made = []
        for index, document in enumerate(self._documents[: self.count]):
            span = slice(self._starts[index], self._starts[index + 1])
            parts = {name: array[span] for name, array in arrays.items()}
            made.append(Lesson(document.ids, document.learned, document.group, **parts))
        return made

    def _opened(self, name: str) -> IO[bytes]:
        """The file of an array, cut to what the note says."""
        file = self._path(name).open("ab")
        file.truncate(self.tokens * self._widths.get(name, 0) * np.dtype(_TYPES[name]).itemsize)
        return file

    def _mapped(self, name: str) -> Any:
        shape, kind = (self.tokens, self._widths.get(name, 0)), _TYPES[name]
        return np.memmap(self._path(name), kind, "r", shape=shape) if shape[0] * shape[1] else np.empty(shape, kind)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.bin"

    def _save(self, files: Any) -> None:
        for file in files:
            file.flush()
        unfinished = self._note.with_suffix(".unfinished")
        unfinished.write_text(json.dumps({"key": self._key, "count": self.count, "widths": self._widths}), "utf-8")
        unfinished.replace(self._note)
