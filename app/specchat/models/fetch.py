"""One file of the hub, fetched so that nothing is lost and nothing half-written is seen.

Bytes go into a part beside the blob, whether plain HTTPS or Xet brings them. Whatever ends the process, the next one
reads the part back, hashes it and asks for the rest. Only when size, checksum and GGUF header are right does the file
take its name.
"""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path

from huggingface_hub.utils import WeakFileLock

from specchat.errors import FetchError
from specchat.models.cache import Place, discard, install, is_installed, note_down, partials, place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.https import Https
from specchat.models.hub_files import HubFile
from specchat.models.part import Part
from specchat.models.patience import Control, Patience, Paused
from specchat.models.retry import wait_before_next
from specchat.models.sizes import in_words
from specchat.models.transport import TryAgain
from specchat.models.xet.source import XetSource, XetSwitch
from specchat.models.xet.transfer import XetFailed
from specchat_engine.errors import HeaderError
from specchat_engine.gguf import FileSource, read_header

_TRIES = 2
"""How often a file may arrive with the wrong checksum."""


class Fetch:
    """Fetches one file; `hear` gets the number of bytes that are there, `tell` a line that the user should read."""

    def __init__(
        self,
        file: HubFile,
        *,
        patience: Patience,
        control: Control,
        xet: XetSwitch,
        hear: Callable[[int], None],
        tell: Callable[[str], None],
        environment: HubEnvironment | None = None,
    ) -> None:
        self.file = file
        self.environment = environment or hub_environment()
        self.place: Place = place_of(file, self.environment)
        self._patience, self._control, self._xet = patience, control, xet
        self._hear, self._tell = hear, tell
        self._have = 0
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
            note_down(self.file, self.place, self._validator)
            self.place.part.touch()
            with self.place.part.open("r+b") as out:
                part = Part(self.file, out, self._count)
                part.read_back(self._control)
                self._receive_all(part)
                part.sync()
            if part.matches:
                self._check_header()
                return
            self._discard()
            self._xet.turn_off()
            if tries_left:
                self._tell(f"{self.file.path} arrived damaged: its checksum is not the hub's; it is fetched anew")
        raise FetchError(
            f"{self.file.path} arrived {_TRIES} times with another checksum than the hub lists: something on the way "
            "changes it; nothing of it was kept, try another network or HF_ENDPOINT"
        )

    def _receive_all(self, part: Part) -> None:
        control, patience = self._control, self._patience
        xet = XetSource(self.file, self._xet, control=control, silence=patience.silence)
        https = Https(self.place, self._validator, control=control, silence=patience.silence, tell=self._tell)
        failures, last = 0, part.have
        while not part.is_whole:
            control.wait_until_running()
            try:
                if xet.has_it:
                    xet.receive(part)
                else:
                    https.receive(part)
            except Paused:
                continue
            except XetFailed as why:
                if self._xet.turn_off():
                    self._tell(f"Xet failed: {why}; plain HTTPS goes on{_behind(part.have)}")
            except TryAgain as why:
                part.flush()
                failures = 1 if part.have - last >= patience.progress else failures + 1
                last = part.have
                control.sleep(wait_before_next(why, failures, patience))

    def _count(self, have: int) -> None:
        self._have = have
        self._hear(have)

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

    def _in_words(self, error: OSError) -> FetchError:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return FetchError(
                f"no space is left in {self.environment.cache} for {self.file.path}: free "
                f"{self.file.size - self._have} bytes, or set HF_HOME, and run this again; what has arrived is kept"
            )
        reason = error.strerror or str(error)
        where = error.filename or self.place.blob
        return FetchError(f"{where} cannot be written: {reason}; make it writable, or set HF_HOME to another folder")


def _behind(have: int) -> str:
    return f" behind {in_words(have)}" if have else ""
