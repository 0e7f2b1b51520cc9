"""Downloading several files of the hub at once in the background: the parts of a split model, or a pair."""

from __future__ import annotations

import shutil
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from time import monotonic

from specchat.errors import FetchError, SpecchatError
from specchat.models.cache import bytes_here
from specchat.models.control import Control, RetryPolicy, Stopped
from specchat.models.environment import hub_environment
from specchat.models.fetch import Fetch
from specchat.models.labels import format_size
from specchat.models.model_files import HubFile
from specchat.models.xet import XetSwitch

AT_ONCE = 3
_SPARE = 64 * 2**20
"""Bytes of the disk that stay free."""

_RATE_WINDOW = 6.0
"""The rate is averaged over these seconds: long enough to be steady, short enough to follow the connection."""

_SAMPLE = 0.1
_FIRST_RATE = 0.5


class PullState(StrEnum):
    """The state of a pull."""

    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class FileProgress:
    """The progress of one file, in bytes."""

    path: str
    done: int
    size: int


@dataclass(frozen=True, slots=True)
class PullProgress:
    """The progress of a pull at one moment.

    `rate` is in bytes a second and `left` in seconds; both are None if they are not known yet. `notices` are lines that
    the user should read; `error` says why the pull failed.
    """

    state: PullState
    files: tuple[FileProgress, ...]
    rate: float | None
    left: float | None
    notices: tuple[str, ...]
    error: str

    @property
    def done(self) -> int:
        """The bytes that are there."""
        return sum(file.done for file in self.files)

    @property
    def size(self) -> int:
        """The bytes of all files."""
        return sum(file.size for file in self.files)


class Pull:
    """Downloads files in threads of its own. A new pull of the same files continues where an earlier one stopped.

    Without `xet`, only plain HTTPS is used.
    """

    def __init__(
        self, files: Sequence[HubFile], retry: RetryPolicy | None = None, at_once: int = AT_ONCE, *, xet: bool = True
    ) -> None:
        self.files = tuple(files)
        self._retry = retry or RetryPolicy()
        self._control = Control()
        self._xet = XetSwitch(wanted=xet)
        self._lock = threading.Lock()
        self._meter = RateMeter()
        self._done = dict.fromkeys(self.files, 0)
        self._paths: dict[HubFile, Path] = {}
        self._notices: list[str] = []
        self._errors: list[Exception] = []
        self._waiting = _by_content(self.files)
        self._threads = [
            threading.Thread(target=self._work, name=f"pull-{number}", daemon=True)
            for number in range(min(at_once, len(self._waiting)))
        ]
        self._working = len(self._threads)
        self._ended = threading.Event()

    def start(self) -> None:
        """Begins the download. Raises FetchError if the disk has too little space."""
        check_space(self.files)
        for thread in self._threads:
            thread.start()

    def pause(self) -> None:
        """Closes the connections until `resume`."""
        self._control.pause()

    def resume(self) -> None:
        """Continues after a pause."""
        self._control.resume()

    def cancel(self) -> None:
        """Ends the download. What has arrived is kept for the next one."""
        self._control.cancel()

    def wait(self, seconds: float | None = None) -> bool:
        """Waits for the end, at most this long. Returns True if it has ended."""
        # Not by joining the threads: a thread whose join Ctrl+C interrupts counts as ended in Python 3.11 and 3.12.
        return self._ended.wait(seconds)

    def progress(self) -> PullProgress:
        """The progress at this moment."""
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
        """After the end: the paths in the cache, in the order of the files. Raises HubError, FetchError, or Stopped."""
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
                    self._working -= 1
                    if not self._working:
                        self._ended.set()
                    return
                same = self._waiting.pop(0)
            for file in same:
                self._fetch(file)

    def _fetch(self, file: HubFile) -> None:
        def on_progress(done: int) -> None:
            with self._lock:
                self._done[file] = done
                self._meter.update(sum(self._done.values()))

        def notify(line: str) -> None:
            with self._lock:
                self._notices.append(line)

        error: Exception
        try:
            path = Fetch(
                file,
                retry=self._retry,
                control=self._control,
                xet=self._xet,
                on_progress=on_progress,
                notify=notify,
            ).run()
        except (SpecchatError, Stopped) as known:
            error = known
        except Exception as unknown:  # noqa: BLE001 - whoever waits for the pull must learn how the thread ended
            error = FetchError(f"{file.path}: an unexpected {type(unknown).__name__}: {unknown}")
        else:
            with self._lock:
                self._paths[file] = path
            return
        with self._lock:
            self._errors.append(error)


class RateMeter:
    """Measures how fast a number of bytes grows."""

    def __init__(self, clock: Callable[[], float] = monotonic) -> None:
        self._clock = clock
        self._samples: deque[tuple[float, int]] = deque()

    def update(self, done: int) -> None:
        """Records the number of bytes that are there now. A smaller number than before starts the measurement again."""
        now = self._clock()
        if self._samples and done < self._samples[-1][1]:
            self._samples.clear()
        if len(self._samples) > 1 and now - self._samples[-2][0] < _SAMPLE:
            self._samples.pop()
        self._samples.append((now, done))
        while now - self._samples[0][0] > _RATE_WINDOW and len(self._samples) > 2:
            self._samples.popleft()

    @property
    def rate(self) -> float | None:
        """Bytes a second over the last seconds; None during the first half second."""
        if not self._samples:
            return None
        (begin, first), (_, last) = self._samples[0], self._samples[-1]
        seconds = self._clock() - begin
        return (last - first) / seconds if seconds >= _FIRST_RATE else None

    def left(self, remaining: int) -> float | None:
        """The seconds until this many more bytes are there; None if that is not known."""
        rate = self.rate
        return remaining / rate if rate else None


def check_space(files: Sequence[HubFile]) -> None:
    """Raises FetchError if the disk cannot hold what is missing of these files."""
    environment = hub_environment()
    missing = sum(file.size - bytes_here(file, environment) for file in set(files))
    folder = environment.cache
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    if missing and missing + _SPARE > free:
        raise FetchError(
            f"{format_size(missing)} are to be downloaded, and {format_size(free)} are free in {environment.cache}: "
            "free some space, choose a smaller quantisation, or set HF_HOME to a folder on another disk"
        )


def _by_content(files: Sequence[HubFile]) -> list[list[HubFile]]:
    """Files with the same bytes, which follow each other: the second one finds the blob of the first."""
    same: dict[tuple[str, str], list[HubFile]] = {}
    for file in files:
        same.setdefault((file.repository, file.digest), []).append(file)
    return list(same.values())
