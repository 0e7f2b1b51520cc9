"""What is known from earlier about the drafts of a target: which one it had last, and how fast each one was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specchat.errors import LibraryError
from specchat.files import load_json, save_json
from specchat.models.names import find_path
from specchat.models.preferences import read_preferences
from specchat.settings.paths import data_folder

_MOST_TARGETS = 100


@dataclass(frozen=True, slots=True)
class DraftTiming:
    """A draft that was timed: the speed with its best settings relative to plain decoding, including the prompt.

    `alphas` has the acceptance by kind of text, where that was measured.
    """

    draft: str
    speedup: float
    drafter: str
    k: str
    alphas: Mapping[str, float] = field(default_factory=dict)


def last_draft(target: Path) -> Path | None:
    """The draft that was used last with this target; None if there was none or its file is gone."""
    try:
        pairs = read_preferences().pairs
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


def write_timings(target: Path, timings: Sequence[DraftTiming]) -> None:
    """Replaces the timings of this target. A folder that cannot be written is only logged."""
    by_target = {**_read(), str(target.absolute()): timings}
    save_json(_file(), dict([*by_target.items()][-_MOST_TARGETS:]))


def read_timings(target: Path) -> list[DraftTiming]:
    """The timings of this target's drafts, the fastest first."""
    return sorted(_read().get(str(target.absolute()), ()), key=lambda timing: -timing.speedup)


def _file() -> Path:
    return data_folder() / "timings.json"


def _read() -> dict[str, Sequence[DraftTiming]]:
    return load_json(_file(), dict[str, Sequence[DraftTiming]]) or {}
