"""The models on this machine, each with what its header says in short."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from specchat.models.finding import once
from specchat.models.shelf import Shelf, read_shelf
from specchat.models.sources import Found, all_models
from specchat.models.summaries import Summaries, Summary


@dataclass(frozen=True, slots=True)
class Entry:
    """A model on this machine. `aliases` are the user's own names for it."""

    found: Found
    summary: Summary
    aliases: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What `-m` takes."""
        return self.found.name

    @property
    def path(self) -> Path:
        """What the engine loads."""
        return self.found.files[0]

    @property
    def size(self) -> int:
        """In bytes, all parts together."""
        return self.found.size

    @property
    def quantisation(self) -> str:
        """By the name, else by the header."""
        return self.found.quantisation or self.summary.quantisation

    @property
    def problem(self) -> str:
        """Why it cannot be used; empty where it can."""
        return self.found.problem or self.summary.problem


def models() -> list[Entry]:
    """Everything on this machine, those that cannot be used with their reason. Raises LibraryError."""
    shelf = read_shelf()
    summaries = Summaries()
    entries = [_entry(found, summaries, shelf) for found in once(all_models(Path(one) for one in shelf.folders))]
    summaries.keep()
    return entries


def _entry(found: Found, summaries: Summaries, shelf: Shelf) -> Entry:
    aliases = tuple(alias for alias, name in shelf.aliases.items() if name in (found.name, str(found.files[0])))
    return Entry(found, Summary() if found.problem else summaries.of(found.files[0]), aliases)
