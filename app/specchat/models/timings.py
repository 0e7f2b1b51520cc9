"""Which drafts were timed with a target on this machine, and what came of it."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specchat.files import replace_text
from specchat.settings.paths import data_folder

_log = logging.getLogger(__name__)
_MOST = 100


@dataclass(frozen=True, slots=True)
class Timing:
    """One draft as it was timed: its best settings' speed over plain decoding, prompt included."""

    draft: str
    speedup: float
    drafter: str
    k: str


def keep_timings(target: Path, timings: Sequence[Timing]) -> None:
    """Keeps what was measured, in place of what was kept of this target."""
    kept = {**_read(), str(target.absolute()): [asdict(one) for one in timings]}
    try:
        replace_text(_file(), json.dumps(dict([*kept.items()][-_MOST:]), indent=1))
    except OSError as error:
        _log.warning("the drafts' times could not be kept: %s", error)


def read_timings(target: Path) -> list[Timing]:
    """What is kept of this target, the best draft first."""
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
