"""One file of the hub, fetched byte by byte so that nothing is lost and nothing half-written is seen.

Bytes go into a part beside the blob. Whatever ends the process, the next one reads the part back, hashes it and asks
for the rest. Only when size, checksum and GGUF header are right does the file take its name.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING

from huggingface_hub.utils import WeakFileLock

from specchat.errors import FetchError
from specchat.models.cache import Place, discard, install, is_installed, note_down, partials, place_of
from specchat.models.checksum import Checksum
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.hub_files import HubFile
from specchat.models.patience import Control, Patience
from specchat.models.retry import wait_before_next
from specchat.models.transport import TryAgain, answer
from specchat_engine.errors import HeaderError
from specchat_engine.gguf import FileSource, read_header

if TYPE_CHECKING:
    from httpx2 import Response

_PIECE = 256 * 1024
_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
_TRIES = 2
"""How often a file may arrive with the wrong checksum."""


class _Paused(Exception):
    """The connection was let go."""


class Fetch:
    """Fetches one file; `hear` gets the number of bytes that are there, `tell` a line that the user should read."""

    def __init__(
        self,
        file: HubFile,
        *,
        patience: Patience,
        control: Control,
        hear: Callable[[int], None],
        tell: Callable[[str], None],
        environment: HubEnvironment | None = None,
    ) -> None:
        self.file = file
        self.environment = environment or hub_environment()
        self.place: Place = place_of(file, self.environment)
        self._patience, self._control = patience, control
        self._hear, self._tell = hear, tell
        self._have = 0
        self._checksum = Checksum(file.digest, file.size)
        self._validator = ""

    def run(self) -> Path:
        """The file's path in the cache, at once where it is there already.

        Raises HubError or FetchError where it cannot be finished now, and Stopped; what has arrived is kept.
        """
        try:
            if is_installed(self.file, self.place):
                self._hear(self.file.size)
                return self.place.snapshot
            self.place.lock.parent.mkdir(parents=True, exist_ok=True)
            self.place.part.parent.mkdir(parents=True, exist_ok=True)
            try:
                with WeakFileLock(self.place.lock, timeout=0.1):
                    return self._run_alone()
            except TimeoutError:
                raise FetchError(
                    f"{self.file.path} is being downloaded by another program: wait for it, then run this again"
                ) from None
        except OSError as error:
            raise self._in_words(error) from None

    def _run_alone(self) -> Path:
        if self._blob_is_there():
            self._discard()
        else:
            self._drop_outdated()
            self._fetch_and_check()
        self._hear(self.file.size)
        return install(self.file, self.place, symlinks=self.environment.symlinks)

    def _fetch_and_check(self) -> None:
        for tries_left in reversed(range(_TRIES)):
            with self._open_part() as out:
                self._read_back(out)
                self._receive_all(out)
                out.flush()
                os.fsync(out.fileno())
            if self._checksum.matches():
                self._check_header()
                return
            self._discard()
            if tries_left:
                self._tell(f"{self.file.path} arrived damaged: its checksum is not the hub's; it is fetched anew")
        raise FetchError(
            f"{self.file.path} arrived {_TRIES} times with another checksum than the hub lists: something on the way "
            "changes it; nothing of it was kept, try another network or HF_ENDPOINT"
        )

    def _blob_is_there(self) -> bool:
        try:
            return self.place.blob.stat().st_size == self.file.size
        except OSError:
            return False

    def _drop_outdated(self) -> None:
        """Parts of what had this name before cannot be used any more."""
        for partial in [*partials(self.place.blob.parents[1])]:
            if partial.file.path == self.file.path and partial.file.digest != self.file.digest:
                discard(partial)
                self._tell(f"{self.file.path} has changed on the hub since it was begun: it is fetched anew")
            elif partial.file.digest == self.file.digest:
                self._validator = partial.validator

    def _open_part(self) -> IO[bytes]:
        note_down(self.file, self.place, self._validator)
        self.place.part.touch()
        return self.place.part.open("r+b")

    def _read_back(self, out: IO[bytes]) -> None:
        """Hashes what is there already, rather than trust a state that was kept."""
        self._checksum = Checksum(self.file.digest, self.file.size)
        self._have = 0
        out.truncate(min(self.file.size, out.seek(0, os.SEEK_END)))
        out.seek(0)
        while piece := out.read(_PIECE):
            self._control.check()
            self._checksum.update(piece)
            self._have += len(piece)
        self._hear(self._have)

    def _receive_all(self, out: IO[bytes]) -> None:
        failures, last = 0, self._have
        while self._have < self.file.size:
            self._control.wait_until_running()
            try:
                self._receive(out)
            except _Paused:
                continue
            except TryAgain as why:
                out.flush()
                failures = 1 if self._have - last >= self._patience.progress else failures + 1
                last = self._have
                self._control.sleep(wait_before_next(why, failures, self._patience))

    def _receive(self, out: IO[bytes]) -> None:
        """What one connection brings. Raises TryAgain where that is not the rest, _Paused, Stopped."""
        headers = {}
        if self._have:
            headers["Range"] = f"bytes={self._have}-"
            if self._validator:
                headers["If-Range"] = self._validator
        with answer(self.file.url, headers=headers, silence=self._patience.silence) as response:
            self._begin(response, out)
            for piece in response.iter_raw():  # as they come: with a chunk size, a cut would lose what is collected
                if self._have + len(piece) > self.file.size:
                    raise self._size_differs("more bytes")
                out.write(piece)
                self._checksum.update(piece)
                self._have += len(piece)
                self._hear(self._have)
                self._control.check()
                if self._control.paused:
                    raise _Paused
        if self._have < self.file.size:
            raise TryAgain(f"the server ended {self.file.path} after {self._have} of {self.file.size} bytes")

    def _begin(self, response: Response, out: IO[bytes]) -> None:
        """Finds out which bytes will come, and goes back where they are not the next ones."""
        start, size = 0, response.headers.get("Content-Length", "*")
        if response.status_code == 206:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if not match or int(match[1]) != self._have:
                raise TryAgain(f"the server sent another part of {self.file.path} than it was asked for")
            start, size = int(match[1]), match[2]
        if size not in ("*", str(self.file.size)):
            raise self._size_differs(f"{size} bytes" if size.isdigit() else "no size")
        validator = response.headers.get("ETag", "")
        validator = "" if validator.startswith("W/") else validator
        changed = bool(start and self._validator and validator and validator != self._validator)
        if self._have and (start == 0 or changed):
            self._start_anew(out)
        if validator != self._validator:
            self._validator = validator
            note_down(self.file, self.place, validator)
        if changed:
            raise TryAgain(f"the server has another version of {self.file.path} now")

    def _start_anew(self, out: IO[bytes]) -> None:
        self._tell(f"{self.file.path} starts anew: the server sends another version, or no parts of files")
        out.seek(0)
        out.truncate()
        self._have = 0
        self._checksum = Checksum(self.file.digest, self.file.size)
        self._hear(0)

    def _check_header(self) -> None:
        """Lets no file through that native code should not see."""
        if not self.file.path.lower().endswith(".gguf"):
            return
        try:
            with self.place.part.open("rb") as file:
                read_header(FileSource(file), self.file.path)
        except HeaderError as error:
            self._discard()
            raise FetchError(f"{error}, or choose another: these are the bytes that the hub lists") from None

    def _discard(self) -> None:
        self.place.part.unlink(missing_ok=True)
        self.place.note.unlink(missing_ok=True)

    def _size_differs(self, sent: str) -> FetchError:
        return FetchError(
            f"the server sends {sent} for {self.file.path}, the hub lists {self.file.size}: a proxy or a log-in page "
            "may stand between; check the connection and run this again"
        )

    def _in_words(self, error: OSError) -> FetchError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return FetchError(
                f"no space is left in {self.environment.cache} for {self.file.path}: free "
                f"{self.file.size - self._have} bytes, or set HF_HOME, and run this again; what has arrived is kept"
            )
        reason = error.strerror or str(error)
        where = error.filename or self.place.blob
        return FetchError(f"{where} cannot be written: {reason}; make it writable, or set HF_HOME to another folder")
