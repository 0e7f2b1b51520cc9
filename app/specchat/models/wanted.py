"""What is to be fetched, and the list of it that outlives the application: what was interrupted can be gone on with."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from specchat.files import replace_text
from specchat.models.cache import is_installed, place_of
from specchat.models.environment import hub_environment
from specchat.models.hub_files import HubFile, is_digest, is_safe_path
from specchat.models.names import Group
from specchat.settings.paths import unfinished_file

_log = logging.getLogger(__name__)
_MOST = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be fetched: a target, a draft for what is loaded, or both. `name` is what the user reads."""

    name: str
    target: Group[HubFile] | None = None
    draft: Group[HubFile] | None = None

    @property
    def files(self) -> tuple[HubFile, ...]:
        """All of them, each once."""
        return tuple(dict.fromkeys(file for model in (self.target, self.draft) if model for file in model.files))


def bytes_here(file: HubFile) -> int:
    """How many bytes of a file are on this machine, whole or in part."""
    place = place_of(file, hub_environment())
    if is_installed(file, place):
        return file.size
    for path in (place.blob, place.part):
        try:
            return min(path.stat().st_size, file.size)
        except OSError:
            continue
    return 0


def remember(wanted: Wanted) -> None:
    """Puts it last on the list; a folder that cannot be written costs nothing but that."""
    _keep([*(one for one in _read() if one != wanted), wanted])


def forget(*ended: Wanted) -> None:
    """Takes these off the list."""
    kept = _read()
    left = [one for one in kept if one not in ended]
    if left != kept:
        _keep(left)


def unfinished() -> list[Wanted]:
    """What was begun and is here in part, the oldest first; what is whole, or gone, leaves the list."""
    kept = _read()
    left = [one for one in kept if 0 < sum(map(bytes_here, one.files)) < sum(file.size for file in one.files)]
    if left != kept:
        _keep(left)
    return left


def _keep(wanted: Sequence[Wanted]) -> None:
    try:
        if wanted:
            replace_text(unfinished_file(), json.dumps([asdict(one) for one in wanted[-_MOST:]], indent=1))
        else:
            unfinished_file().unlink(missing_ok=True)
    except OSError as error:
        _log.warning("the list of downloads could not be kept: %s", error)


def _read() -> list[Wanted]:
    try:
        kept = json.loads(unfinished_file().read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return []
    found = (_wanted(one) for one in kept) if isinstance(kept, list) else ()
    return [one for one in found if one is not None and one.files]


def _wanted(kept: object) -> Wanted | None:
    if not isinstance(kept, Mapping):
        return None
    try:
        return Wanted(str(kept["name"]), *(_model(kept.get(role)) for role in ("target", "draft")))
    except (KeyError, TypeError, ValueError):
        return None


def _model(kept: Mapping[str, Sequence[Mapping[str, object]]] | None) -> Group[HubFile] | None:
    """Raises KeyError, TypeError or ValueError for what nothing of ours has written."""
    if kept is None:
        return None
    files = tuple(HubFile(**one) for one in kept["files"])  # type: ignore[arg-type]
    for file in files:
        texts = all(isinstance(text, str) for text in (file.repository, file.commit, file.path))
        if not texts or not isinstance(file.size, int) or not is_digest(file.digest) or not is_safe_path(file.path):
            raise ValueError(file.path)
    return Group(files, str(kept["quantisation"]))
