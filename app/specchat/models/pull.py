"""Several files of the hub, fetched at once in the background: a split model, or a pair."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from specchat.errors import FetchError, SpecchatError
from specchat.models.cache import is_installed, place_of
from specchat.models.environment import hub_environment
from specchat.models.fetch import Fetch
from specchat.models.hub_files import HubFile
from specchat.models.patience import Control, Patience, Stopped
from specchat.models.progress import Meter
from specchat.models.sizes import in_words
from specchat.models.xet.source import XetSwitch

AT_ONCE = 3
_SPARE = 64 * 2**20
"""Bytes of the disk that stay free."""


class PullState(StrEnum):
    """How far a pull is."""

    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class FileProgress:
    """One file's bytes."""

    path: str
    done: int
    size: int


@dataclass(frozen=True, slots=True)
class PullProgress:
    """A moment of a pull. `rate` is in bytes a second, `left` in seconds, both None where they cannot be told yet.

    `notices` are lines that the user should read; `error` is why it failed.
    """

    state: PullState
    files: tuple[FileProgress, ...]
    rate: float | None
    left: float | None
    notices: tuple[str, ...]
    error: str

    @property
    def done(self) -> int:
        """Bytes that are there."""
        return sum(file.done for file in self.files)

    @property
    def size(self) -> int:
        """Bytes in all."""
        return sum(file.size for file in self.files)


class Pull:
    """Fetches files in threads of its own. Whatever happens, calling it again goes on where it was.

    Without `xet` only plain HTTPS is used.
    """

    def __init__(
        self, files: Sequence[HubFile], patience: Patience | None = None, at_once: int = AT_ONCE, *, xet: bool = True
    ) -> None:
        self.files = tuple(files)
        self._patience = patience or Patience()
        self._control = Control()
        self._xet = XetSwitch(wanted=xet)
        self._lock = threading.Lock()
        self._meter = Meter()
        self._done = dict.fromkeys(self.files, 0)
        self._paths: dict[HubFile, Path] = {}
        self._notices: list[str] = []
        self._errors: list[Exception] = []
        self._waiting = _by_content(self.files)
        self._threads = [
            threading.Thread(target=self._work, name=f"pull-{number}", daemon=True)
            for number in range(min(at_once, len(self._waiting)))
        ]
        self._at_work = len(self._threads)
        self._ended = threading.Event()

    def start(self) -> None:
        """Begins. Raises FetchError where the disk has too little space."""
        check_space(self.files)
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Lets the connections go until `resume`."""
        self._control.pause()

    def resume(self) -> None:
        """Goes on after a pause."""
        self._control.resume()

    def cancel(self) -> None:
        """Ends it; what has arrived is kept for the next time."""
        self._control.cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end, so long at most; whether it came."""
        # Not by joining the threads: one whose join was interrupted by Ctrl+C counts as ended in Python 3.11 and 3.12.
        return self._ended.wait(seconds)

    def progress(self) -> PullProgress:
        """Where it stands."""
        with self._lock:
            files = tuple(FileProgress(file.path, self._done[file], file.size) for file in self.files)
            remaining = sum(file.size - file.done for file in files)
            return PullProgress(
                self._state(),
                files,
                self._meter.rate,
                self._meter.left(remaining),
                tuple(self._notices),
                next((str(error) for error in self._errors if isinstance(error, SpecchatError)), ""),
            )

    def result(self) -> tuple[Path, ...]:
        """The paths in the cache, in the files' order, after the end. Raises HubError, FetchError, or Stopped."""
        for error in sorted(self._errors, key=lambda error: isinstance(error, Stopped)):
            raise error
        return tuple(self._paths[file] for file in self.files)

    def _state(self) -> PullState:
        if not self._ended.is_set():
            return PullState.PAUSED if self._control.paused else PullState.RUNNING
        if any(not isinstance(error, Stopped) for error in self._errors):
            return PullState.FAILED
        return PullState.CANCELLED if self._errors else PullState.DONE

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._at_work -= 1
                    if not self._at_work:
                        self._ended.set()
                    return
                same = self._waiting.pop(0)
            for file in same:
                self._fetch_or_note(file)

    def _fetch_or_note(self, file: HubFile) -> None:
        try:
            path = self._fetch(file)
        except (SpecchatError, Stopped) as error:
            with self._lock:
                self._errors.append(error)
        except Exception as error:  # noqa: BLE001 - a thread's end must reach whoever waits for it
            with self._lock:
                self._errors.append(FetchError(f"{file.path}: an unexpected {type(error).__name__}: {error}"))
        else:
            with self._lock:
                self._paths[file] = path

    def _fetch(self, file: HubFile) -> Path:
        def hear(done: int) -> None:
            with self._lock:
                self._done[file] = done
                self._meter.see(sum(self._done.values()))

        def tell(line: str) -> None:
            with self._lock:
                self._notices.append(line)

        return Fetch(file, patience=self._patience, control=self._control, xet=self._xet, hear=hear, tell=tell).run()


def _by_content(files: Sequence[HubFile]) -> list[list[HubFile]]:
    """Files with the same bytes come one after the other: the second finds the blob of the first."""
    same: dict[tuple[str, str], list[HubFile]] = {}
    for file in files:
        same.setdefault((file.repository, file.digest), []).append(file)
    return list(same.values())


def check_space(files: Sequence[HubFile]) -> None:
    """Raises FetchError where the disk cannot hold what is still missing of these files."""
    environment = hub_environment()
    missing = 0
    for file in set(files):
        place = place_of(file, environment)
        if not is_installed(file, place) and not place.blob.exists():
            missing += file.size - min(file.size, place.part.stat().st_size if place.part.exists() else 0)
    folder = environment.cache
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if missing and missing + _SPARE > free:
        raise FetchError(
            f"{in_words(missing)} are still to be fetched, and {in_words(free)} are free in {environment.cache}: free "
            "some space, choose a smaller quantisation, or set HF_HOME to a folder on another disk"
        )
