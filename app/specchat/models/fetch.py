"""Downloading one file of the hub into the Hugging Face cache.

The bytes go into a part beside the blob, by Xet or by plain HTTPS. After an interruption the next download reads the
part, hashes it and requests the rest. The file gets its name only when its size, checksum and GGUF header are right.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import httpx2
from huggingface_hub.utils import WeakFileLock

from specchat.errors import FetchError
from specchat.models.cache import (
    discard_empty_part,
    discard_part,
    has_blob,
    install,
    is_installed,
    partials,
    place_of,
    write_note,
)
from specchat.models.control import Control, Paused, RetryPolicy
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.labels import format_size
from specchat.models.model_files import HubFile
from specchat.models.part import PartialFile, wrong_size
from specchat.models.transport import TemporaryError, request, wait_before_retry
from specchat.models.xet import XetFailed, XetSwitch, xet_bytes, xet_name
from specchat_engine.errors import HeaderError
from specchat_engine.gguf import FileSource, read_header

_TRIES = 2
"""How often a file may arrive with the wrong checksum."""

_LOCK_WAIT = 0.1
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Fetch:
    """Downloads one file. `on_progress` gets the number of bytes that are there, `notify` lines for the user."""

    def __init__(
        self,
        file: HubFile,
        *,
        retry: RetryPolicy,
        control: Control,
        xet: XetSwitch,
        on_progress: Callable[[int], None],
        notify: Callable[[str], None],
        environment: HubEnvironment | None = None,
    ) -> None:
        self.file = file
        self.environment = environment or hub_environment()
        self.place = place_of(file, self.environment)
        self._retry, self._control, self._xet = retry, control, xet
        self._on_progress, self._notify = on_progress, notify
        self._have = 0

    def run(self) -> Path:
        """Downloads what is missing and returns the file's path in the cache.

        Raises HubError or FetchError if it cannot be completed now, and Stopped. What has arrived is kept.
        """
        try:
            if is_installed(self.file, self.place):
                self._count(self.file.size)
                return self.place.snapshot
            self.place.lock.parent.mkdir(parents=True, exist_ok=True)
            self.place.part.parent.mkdir(parents=True, exist_ok=True)
            with WeakFileLock(self.place.lock, timeout=_LOCK_WAIT):
                return self._run_locked()
        except TimeoutError:
            raise FetchError(
                f"{self.file.path} is being downloaded by another program: wait for it, then run this again"
            ) from None
        except OSError as error:
            raise self._fetch_error(error) from None

    def _run_locked(self) -> Path:
        if has_blob(self.file, self.place):
            discard_part(self.place.part)
        else:
            self._discard_older_versions()
            try:
                self._download_and_check()
            finally:
                discard_empty_part(self.place.part)
        self._count(self.file.size)
        return install(self.file, self.place, symlinks=self.environment.symlinks)

    def _download_and_check(self) -> None:
        for tries_left in reversed(range(_TRIES)):
            write_note(self.file, self.place)
            self.place.part.touch()
            with self.place.part.open("r+b") as out:
                part = PartialFile(self.file, out, self._count)
                part.read_back(self._control)
                self._receive_all(part)
                part.sync()
            if part.matches:
                self._check_header()
                return
            discard_part(self.place.part)
            self._xet.turn_off()
            if tries_left:
                self._notify(f"{self.file.path} arrived damaged: its checksum is not the hub's; it is downloaded again")
        raise FetchError(
            f"{self.file.path} arrived {_TRIES} times with another checksum than the hub lists: something on the way "
            "changes it; nothing of it was kept, try another network or HF_ENDPOINT"
        )

    def _receive_all(self, part: PartialFile) -> None:
        failures, last = 0, part.have
        name = None if part.is_complete else self._xet_name()
        while not part.is_complete:
            self._control.wait_until_running()
            try:
                if name is not None and self._xet.on:
                    self._receive_by_xet(part, name)
                else:
                    self._receive_by_https(part)
            except Paused:
                continue
            except XetFailed as why:
                if self._xet.turn_off():
                    after = f" after {format_size(part.have)}" if part.have else ""
                    self._notify(f"Xet failed: {why}; the download continues by HTTPS{after}")
            except TemporaryError as error:
                part.flush()
                failures = 1 if part.have - last >= self._retry.progress else failures + 1
                last = part.have
                self._control.sleep(wait_before_retry(error, failures, self._retry))

    def _xet_name(self) -> str | None:
        return xet_name(self.file, self._retry.timeout) if self._xet.on and self.file.is_large else None

    def _receive_by_xet(self, part: PartialFile, name: str) -> None:
        with closing(xet_bytes(self.file, name, part.have, self._control, self._retry.timeout)) as pieces:
            for piece in pieces:
                part.append(piece)
        if not part.is_complete:
            raise XetFailed(f"it ended after {part.have} of {self.file.size} bytes")

    def _receive_by_https(self, part: PartialFile) -> None:
        headers = {"Range": f"bytes={part.have}-"} if part.have else {}
        with request(self.file.url, headers=headers, timeout=self._retry.timeout) as response:
            start = _first_byte(response, part)
            if start != part.have:
                self._notify(f"{self.file.path} starts again: the server sends only complete files")
                part.clear()
            for piece in response.iter_raw():  # with a chunk size, an interruption would lose the last chunk
                part.append(piece)
                self._control.check_running()
        if not part.is_complete:
            raise TemporaryError(f"the server ended {self.file.path} after {part.have} of {self.file.size} bytes")

    def _discard_older_versions(self) -> None:
        for partial in [*partials(self.place.blob.parents[1])]:
            if partial.file.path == self.file.path and partial.file.digest != self.file.digest:
                discard_part(partial.part)
                self._notify(f"{self.file.path} has changed on the hub since its download began: it starts again")

    def _check_header(self) -> None:
        """Rejects files that native code should not see."""
        if not self.file.path.lower().endswith(".gguf"):
            return
        try:
            with self.place.part.open("rb") as file:
                read_header(FileSource(file), self.file.path)
        except HeaderError as error:
            discard_part(self.place.part)
            raise FetchError(f"{error}, or choose another: the file on the hub is like that") from None

    def _count(self, have: int) -> None:
        self._have = have
        self._on_progress(have)

    def _fetch_error(self, error: OSError) -> FetchError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return FetchError(
                f"no space is left in {self.environment.cache} for {self.file.path}: free "
                f"{self.file.size - self._have} bytes, or set HF_HOME, and run this again; what has arrived is kept"
            )
        reason = error.strerror or str(error)
        where = error.filename or self.place.blob
        return FetchError(f"{where} cannot be written: {reason}; make it writable, or set HF_HOME to another folder")


def _first_byte(response: httpx2.Response, part: PartialFile) -> int:
    """The position in the file at which a response begins: the requested one, or 0.

    Raises FetchError for another size than the hub lists, and TemporaryError for a part that was not requested.
    """
    start, size = 0, response.headers.get("Content-Length", "*")
    if response.status_code == 206:
        match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
        if not match or int(match[1]) != part.have:
            raise TemporaryError(f"the server sent another part of {part.file.path} than was requested")
        start, size = int(match[1]), match[2]
    if size not in ("*", str(part.file.size)):
        raise wrong_size(part.file, f"{size} bytes" if size.isdigit() else "no size")
    return start
