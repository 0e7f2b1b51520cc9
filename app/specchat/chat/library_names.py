"""The names of the library's models, to complete /model and /draft: aliases first."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from specchat.errors import SpecchatError

if TYPE_CHECKING:
    from specchat.models.library import LibraryModel

_log = logging.getLogger(__name__)
_FRESH = 5.0
"""Seconds before a list is read again."""


class LibraryNames:
    """Reads the names in a thread, since searching folders takes a while, and serves the last list meanwhile."""

    def __init__(self, read: Callable[[], Iterable[LibraryModel]] | None = None) -> None:
        """`read` returns all models; the default are those on this machine."""
        self._read = read or _models_at_hand
        self._entries: list[LibraryModel] = []
        self._read_at = float("-inf")
        self._reader: threading.Thread | None = None

    def __call__(self) -> list[tuple[str, str]]:
        """Every name that can be loaded, with a few words about it: the user's aliases, then the models' names."""
        self.refresh()
        entries = [*self._entries]
        aliases = [(alias, f"{entry.name} · {_words(entry)}") for entry in entries for alias in entry.aliases]
        return [*sorted(aliases), *((entry.name, _words(entry)) for entry in entries)]

    def refresh(self) -> None:
        """Reads the list again, unless that was done a moment ago or is being done."""
        if monotonic() - self._read_at > _FRESH and not (self._reader and self._reader.is_alive()):
            self._reader = threading.Thread(target=self._look, name="library names", daemon=True)
            self._reader.start()

    def wait(self) -> None:
        """Waits for a list that is being read."""
        if self._reader is not None:
            self._reader.join()

    def path_of(self, name: str) -> Path | None:
        """The file of the model with this name or alias; None if there is none."""
        return next((entry.path for entry in self._entries if name in (entry.name, *entry.aliases)), None)

    def _look(self) -> None:
        try:
            self._entries = [entry for entry in self._read() if not entry.problem]
        except SpecchatError as error:
            _log.warning("models cannot be named: %s", error)
        self._read_at = monotonic()


def _words(entry: LibraryModel) -> str:
    from specchat.models.labels import format_parameters, format_size

    parts = (format_parameters(entry.summary.parameters), entry.quantisation, format_size(entry.size))
    return " · ".join(part for part in parts if part)


def _models_at_hand() -> Iterable[LibraryModel]:
    from specchat.models.library import loadable_models

    return loadable_models()
