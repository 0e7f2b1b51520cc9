"""What is known from earlier about the drafts of a target: which one it had last, and how fast each one was."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from specchat.errors import LibraryError
from specchat.files import replace_text
from specchat.models.finding import find_path
from specchat.models.preferences import read_preferences
from specchat.settings.paths import data_folder

_log = logging.getLogger(__name__)
_MOST_TARGETS = 100


@dataclass(frozen=True, slots=True)
class Timing:
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


def write_timings(target: Path, timings: Sequence[Timing]) -> None:
    """Replaces the timings of this target. A folder that cannot be written is only logged."""
    kept = {**_read(), str(target.absolute()): [asdict(one) for one in timings]}
    try:
        replace_text(_file(), json.dumps(dict([*kept.items()][-_MOST_TARGETS:]), indent=1))
    except OSError as error:
        _log.warning("the timings of the drafts could not be written: %s", error)


def read_timings(target: Path) -> list[Timing]:
    """The timings of this target's drafts, the fastest first."""
    try:
        found = [Timing(**one) for one in _read().get(str(target.absolute()), ())]
        return sorted(found, key=lambda one: -one.speedup)
    except (TypeError, AttributeError):
        return []


def _file() -> Path:
    return data_folder() / "timings.json"


def _read() -> dict[str, list[dict[str, Any]]]:
    try:
        kept = json.loads(_file().read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return kept if isinstance(kept, dict) else {}
