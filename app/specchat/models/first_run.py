"""Whether someone is here for the first time."""

from __future__ import annotations

import logging
from pathlib import Path

from specchat.errors import LibraryError
from specchat.models.shelf import read_shelf
from specchat.settings.paths import data_folder, sessions_db
from specchat.settings.schema import Config

_log = logging.getLogger(__name__)


def is_first_run(config: Config) -> bool:
    """Whether nothing was chosen, nothing is stored, and nobody was welcomed before."""
    if config.model is not None or sessions_db().exists() or _mark().exists():
        return False
    try:
        return read_shelf().default is None
    except LibraryError:
        return False


def remember_welcome() -> None:
    """The next start is not the first one any more; a folder that cannot be written costs only another welcome."""
    try:
        _mark().parent.mkdir(parents=True, exist_ok=True)
        _mark().touch()
    except OSError as error:
        _log.warning("the welcome is not remembered: %s", error)


def _mark() -> Path:
    return data_folder() / "welcomed"
