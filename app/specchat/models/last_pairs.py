"""Which draft a target had last."""

from __future__ import annotations

from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.finding import find_path
from specchat.models.shelf import read_shelf


def last_draft(target: Path) -> Path | None:
    """The draft of the pair that was used last with this target, as far as it is still there."""
    try:
        pairs = read_shelf().pairs
    except LibraryError:
        return None
    wanted = target.absolute()
    for pair in pairs:
        try:
            if pair.draft and find_path(pair.target).absolute() == wanted:
                draft = find_path(pair.draft)
                return draft if draft.is_file() else None
        except LibraryError:
            continue
    return None
