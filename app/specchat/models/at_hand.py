"""Everything that can be loaded at once: the library, the built-in pair, and what is loaded now."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from specchat.models.library import Entry, models
from specchat.models.sources import Found, Source
from specchat.models.summaries import Summaries
from specchat_assets import BuiltinPairError, builtin_pair


def models_at_hand(also: Iterable[Path] = ()) -> list[Entry]:
    """The library's models, usable ones first, behind the built-in pair and files that are named `also`, each once.

    Blocks while headers are read. Raises LibraryError.
    """
    library = models()
    known = {entry.path.resolve() for entry in library}
    try:
        built_in: tuple[Path, ...] = builtin_pair()
    except BuiltinPairError:
        built_in = ()
    summaries = Summaries()
    others = dict.fromkeys(path for path in (*also, *built_in) if path.resolve() not in known and path.is_file())
    entries = [_entry(path, summaries) for path in others]
    summaries.keep()
    return [*entries, *sorted(library, key=lambda entry: bool(entry.problem))]


def _entry(path: Path, summaries: Summaries) -> Entry:
    return Entry(Found(path.stem, Source.FOLDER, (path,), path.stat().st_size, ""), summaries.of(path))
