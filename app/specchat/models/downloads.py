"""The downloads of the application: several at once, watched from anywhere, paused when it ends."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from pathlib import Path
from time import monotonic

from specchat.errors import SpecchatError
from specchat.models.hub_files import HubFile
from specchat.models.names import Group
from specchat.models.patience import Patience, Stopped
from specchat.models.pull import Pull, PullProgress, PullState

_LAST_WAIT = 3.0


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


@dataclass(frozen=True, slots=True)
class Arrived:
    """A download that is complete: what can be loaded now."""

    name: str
    target: Path | None
    draft: Path | None


class Downloads:
    """All downloads since the application began. Nothing here blocks but `close`; call it from one thread."""

    def __init__(self, patience: Patience | None = None) -> None:
        self._patience = patience
        self._ids = itertools.count(1)
        self._wanted: dict[int, Wanted] = {}
        self._pulls: dict[int, Pull] = {}

    def start(self, wanted: Wanted) -> int:
        """Begins, or goes on where an earlier one of the same files stopped; its id.

        Raises FetchError where the disk has too little space.
        """
        same = next((key for key, other in self._wanted.items() if other == wanted), None)
        if same is not None and self.view(same).progress.state in (PullState.RUNNING, PullState.PAUSED, PullState.DONE):
            self.resume(same)
            return same
        pull = Pull(wanted.files, self._patience)
        pull.start()
        key = next(self._ids) if same is None else same
        self._wanted[key], self._pulls[key] = wanted, pull
        return key

    def pause(self, key: int) -> None:
        """Lets its connections go; what has arrived is kept."""
        self._pulls[key].pause()

    def resume(self, key: int) -> None:
        """Goes on after a pause, a failure or a cancel. Raises FetchError where the disk has too little space."""
        if self.view(key).progress.state in (PullState.FAILED, PullState.CANCELLED):
            self.start(self._wanted[key])
        else:
            self._pulls[key].resume()

    def cancel(self, key: int) -> None:
        """Ends it; what has arrived is kept for another time."""
        self._pulls[key].cancel()

    def forget(self, key: int) -> None:
        """Takes one that has ended out of the list."""
        if not self.view(key).active:
            del self._wanted[key], self._pulls[key]

    def view(self, key: int) -> DownloadView:
        """One of them as it is now."""
        return DownloadView(key, self._wanted[key].name, self._pulls[key].progress())

    def views(self) -> list[DownloadView]:
        """All of them as they are now, the oldest first."""
        return [self.view(key) for key in self._pulls]

    def arrived(self, key: int) -> Arrived | None:
        """What can be loaded of it; None before it is complete."""
        wanted, pull = self._wanted[key], self._pulls[key]
        if pull.progress().state is not PullState.DONE:
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
        return [view for view in self.views() if view.id in {one.id for one in left} and _is_short(view)]


def _is_short(view: DownloadView) -> bool:
    return view.progress.state is not PullState.DONE
