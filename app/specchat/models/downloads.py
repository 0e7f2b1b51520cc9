"""The downloads of the app: several at once, and a list on the disk of downloads that an earlier run did not finish."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

from specchat.errors import SpecchatError
from specchat.files import load_json, save_json
from specchat.models.cache import bytes_here
from specchat.models.control import RetryPolicy, Stopped
from specchat.models.environment import hub_environment
from specchat.models.model_files import HubFile, ModelFileGroup
from specchat.models.pull import FileProgress, Pull, PullProgress, PullState
from specchat.settings.paths import unfinished_file
from specchat_engine.codec import from_json

_log = logging.getLogger(__name__)
_LAST_WAIT = 3.0
_MOST_UNFINISHED = 50


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to download: a target, a draft for the loaded target, or both. `name` is shown to the user."""

    name: str
    target: ModelFileGroup[HubFile] | None = None
    draft: ModelFileGroup[HubFile] | None = None

    @property
    def files(self) -> tuple[HubFile, ...]:
        """All files, each once."""
        return tuple(dict.fromkeys(file for model in (self.target, self.draft) if model for file in model.files))


@dataclass(frozen=True, slots=True)
class DownloadView:
    """One download at one moment."""

    id: int
    name: str
    progress: PullProgress

    @property
    def percent(self) -> float:
        """How much is there, from 0 to 100."""
        return 100 * self.progress.done / max(self.progress.size, 1)

    @property
    def active(self) -> bool:
        """True if it is running or paused."""
        return self.progress.state in (PullState.RUNNING, PullState.PAUSED)

    @property
    def resumable(self) -> bool:
        """True if it ended before it was complete: cancelled, failed, or interrupted by the end of the app."""
        return self.progress.state in (PullState.FAILED, PullState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A complete download: the models that can be loaded now."""

    name: str
    target: Path | None
    draft: Path | None


class Downloads:
    """All downloads since the app started, after the unfinished ones of an earlier run.

    Only `close` blocks. Call all methods from one thread.
    """

    def __init__(self, retry: RetryPolicy | None = None) -> None:
        self._retry = retry
        self._ids = itertools.count(1)
        self._wanted: dict[int, Wanted] = {next(self._ids): wanted for wanted in unfinished()}
        self._pulls: dict[int, Pull] = {}

    def start(self, wanted: Wanted) -> int:
        """Starts a download, or continues an earlier one of the same files. Returns its id.

        Raises FetchError if the disk has too little space.
        """
        models = (wanted.target, wanted.draft)
        same = next(
            (
                key
                for key, wanted_before in self._wanted.items()
                if (wanted_before.target, wanted_before.draft) == models
            ),
            None,
        )
        if same is not None and not self.view(same).resumable:
            self.resume(same)
            return same
        pull = Pull(wanted.files, self._retry)
        pull.start()
        remember(wanted)
        key = next(self._ids) if same is None else same
        self._wanted[key], self._pulls[key] = wanted, pull
        return key

    def pause(self, key: int) -> None:
        """Closes its connections. What has arrived is kept."""
        self._pulls[key].pause()

    def resume(self, key: int) -> None:
        """Continues after a pause, a failure or a cancel. Raises FetchError if the disk has too little space."""
        if self.view(key).resumable:
            self.start(self._wanted[key])
        else:
            self._pulls[key].resume()

    def cancel(self, key: int) -> None:
        """Ends it. What has arrived is kept."""
        self._pulls[key].cancel()

    def forget(self, key: int) -> None:
        """Takes a download that has ended off the list."""
        if not self.view(key).active:
            self._pulls.pop(key, None)
            forget(self._wanted.pop(key))

    def view(self, key: int) -> DownloadView:
        """One download as it is now."""
        wanted, pull = self._wanted[key], self._pulls.get(key)
        return DownloadView(key, wanted.name, pull.progress() if pull else _unfinished_progress(wanted))

    def views(self) -> list[DownloadView]:
        """All downloads as they are now, the oldest first."""
        return [self.view(key) for key in self._wanted]

    def arrived(self, key: int) -> Arrived | None:
        """The models of a complete download; None if it is not complete."""
        wanted, pull = self._wanted[key], self._pulls.get(key)
        if pull is None or pull.progress().state is not PullState.DONE:
            return None
        try:
            paths = dict(zip(pull.files, pull.result(), strict=True))
        except (SpecchatError, Stopped):
            return None
        target, draft = (paths[model.files[0]] if model else None for model in (wanted.target, wanted.draft))
        return Arrived(wanted.name, target, draft)

    def close(self) -> list[DownloadView]:
        """Ends all downloads within a few seconds and returns those that are not complete. They can be resumed."""
        active = [view for view in self.views() if view.active]
        for view in active:
            self._pulls[view.id].cancel()
        deadline = monotonic() + _LAST_WAIT
        for view in active:
            self._pulls[view.id].wait(max(deadline - monotonic(), 0.0))
        views = self.views()
        forget(*(self._wanted[view.id] for view in views if view.progress.state is PullState.DONE))
        interrupted = {view.id for view in active}
        return [view for view in views if view.id in interrupted and view.progress.state is not PullState.DONE]


def remember(wanted: Wanted) -> None:
    """Adds it to the list on the disk. A folder that cannot be written is only logged."""
    _write([*(other for other in _read() if other != wanted), wanted])


def forget(*ended: Wanted) -> None:
    """Takes these off the list on the disk."""
    listed = _read()
    left = [wanted for wanted in listed if wanted not in ended]
    if left != listed:
        _write(left)


def unfinished() -> list[Wanted]:
    """The downloads of which a part is on this machine, oldest first. Others are taken off the list."""
    listed, environment = _read(), hub_environment()
    left = []
    for wanted in listed:
        here = sum(bytes_here(file, environment) for file in wanted.files)
        if 0 < here < sum(file.size for file in wanted.files):
            left.append(wanted)
    if left != listed:
        _write(left)
    return left


def _unfinished_progress(wanted: Wanted) -> PullProgress:
    """How far an earlier run of the app came."""
    environment = hub_environment()
    files = tuple(FileProgress(file.path, bytes_here(file, environment), file.size) for file in wanted.files)
    return PullProgress(PullState.CANCELLED, files, None, None, (), "")


def _write(wanted: Sequence[Wanted]) -> None:
    if wanted:
        save_json(unfinished_file(), wanted[-_MOST_UNFINISHED:])
        return
    try:
        unfinished_file().unlink(missing_ok=True)
    except OSError as error:
        _log.warning("the list of downloads could not be removed: %s", error)


def _read() -> list[Wanted]:
    stored = load_json(unfinished_file(), list[Any]) or []
    return [wanted for value in stored if (wanted := _wanted(value)) is not None and wanted.files]


def _wanted(stored: object) -> Wanted | None:
    """None for what specchat has not written."""
    if not isinstance(stored, Mapping):
        return None
    try:
        return Wanted(str(stored["name"]), _model(stored.get("target")), _model(stored.get("draft")))
    except (KeyError, TypeError, ValueError):
        return None


def _model(stored: Mapping[str, Any] | None) -> ModelFileGroup[HubFile] | None:
    return (
        None
        if stored is None
        else ModelFileGroup(tuple(from_json(list[HubFile], stored["files"])), str(stored["quantisation"]))
    )
