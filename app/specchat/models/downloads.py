"""The downloads of the application: several at once, watched from anywhere, gone on with after it has ended."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from specchat.errors import SpecchatError
from specchat.models.patience import Patience, Stopped
from specchat.models.pull import FileProgress, Pull, PullProgress, PullState
from specchat.models.wanted import Wanted, bytes_here, forget, remember, unfinished

_LAST_WAIT = 3.0


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
        """Whether it goes on by itself, or would if it were resumed."""
        return self.progress.state in (PullState.RUNNING, PullState.PAUSED)

    @property
    def resumable(self) -> bool:
        """Whether it ended before it was complete: stopped, failed, or interrupted by the end of the application."""
        return self.progress.state in (PullState.FAILED, PullState.CANCELLED)


@dataclass(frozen=True, slots=True)
class Arrived:
    """A download that is complete: what can be loaded now."""

    name: str
    target: Path | None
    draft: Path | None


class Downloads:
    """All downloads since the application began, behind those that an earlier run of it left in part.

    Nothing here waits but `close`; call it from one thread.
    """

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience
        self._ids = itertools.count(1)
        self._wanted: dict[int, Wanted] = {next(self._ids): wanted for wanted in unfinished()}
        self._pulls: dict[int, Pull] = {}

    def start(self, wanted: Wanted) -> int:
        """Begins, or goes on where an earlier one of the same files stopped; its id.

        Raises FetchError where the disk has too little space.
        """
        models = (wanted.target, wanted.draft)
        same = next((key for key, one in self._wanted.items() if (one.target, one.draft) == models), None)
        if same is not None and not self.view(same).resumable:
            self.resume(same)
            return same
        pull = Pull(wanted.files, self._patience)
        pull.start()
        remember(wanted)
        key = next(self._ids) if same is None else same
        self._wanted[key], self._pulls[key] = wanted, pull
        return key

    def pause(self, key: int) -> None:
        """Lets its connections go; what has arrived is kept."""
        self._pulls[key].pause()

    def resume(self, key: int) -> None:
        """Goes on after a pause, a failure or a cancel. Raises FetchError where the disk has too little space."""
        if self.view(key).resumable:
            self.start(self._wanted[key])
        else:
            self._pulls[key].resume()

    def cancel(self, key: int) -> None:
        """Ends it; what has arrived is kept for another time."""
        self._pulls[key].cancel()

    def forget(self, key: int) -> None:
        """Takes one that has ended out of the list."""
        if not self.view(key).active:
            self._pulls.pop(key, None)
            forget(self._wanted.pop(key))

    def view(self, key: int) -> DownloadView:
        """One of them as it is now."""
        wanted, pull = self._wanted[key], self._pulls.get(key)
        return DownloadView(key, wanted.name, pull.progress() if pull else _left(wanted))

    def views(self) -> list[DownloadView]:
        """All of them as they are now, the oldest first."""
        return [self.view(key) for key in self._wanted]

    def arrived(self, key: int) -> Arrived | None:
        """What can be loaded of it; None before it is complete."""
        wanted, pull = self._wanted[key], self._pulls.get(key)
        if pull is None or pull.progress().state is not PullState.DONE:
            return None
        try:
            paths = dict(zip(pull.files, pull.result(), strict=True))
        except (SpecchatError, Stopped):
            return None
        one, two = (paths[model.files[0]] if model else None for model in (wanted.target, wanted.draft))
        return Arrived(wanted.name, one, two)

    def close(self) -> list[DownloadView]:
        """Ends all of them within a few seconds, to be resumed another time; those that were not complete."""
        left = [view for view in self.views() if view.active]
        for view in left:
            self._pulls[view.id].cancel()
        deadline = monotonic() + _LAST_WAIT
        for view in left:
            self._pulls[view.id].wait(max(deadline - monotonic(), 0.0))
        forget(*(self._wanted[view.id] for view in self.views() if not _is_short(view)))
        return [view for view in self.views() if view.id in {one.id for one in left} and _is_short(view)]


def _is_short(view: DownloadView) -> bool:
    return view.progress.state is not PullState.DONE


def _left(wanted: Wanted) -> PullProgress:
    """How far an earlier run of the application came."""
    files = tuple(FileProgress(file.path, bytes_here(file), file.size) for file in wanted.files)
    return PullProgress(PullState.CANCELLED, files, None, None, (), "")
