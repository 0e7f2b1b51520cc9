"""A file's next bytes by plain HTTPS, which every mirror serves: ranges, and an etag that keeps versions apart."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from specchat.models.cache import Place, note_down
from specchat.models.part import Part, size_differs
from specchat.models.patience import Control
from specchat.models.transport import TryAgain, answer

if TYPE_CHECKING:
    from httpx2 import Response

_CONTENT_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")


class Https:
    """Asks for what a part lacks. `validator` is the etag of the version that the part is of, empty if unknown."""

    def __init__(
        self, place: Place, validator: str, *, control: Control, silence: float, tell: Callable[[str], None]
    ) -> None:
        self._place, self._validator = place, validator
        self._control, self._silence, self._tell = control, silence, tell

    def receive(self, part: Part) -> None:
        """What one connection brings.

        Raises TryAgain where that is not the rest, HubError and FetchError where another try would not help, Paused,
        Stopped.
        """
        file = part.file
        headers = {}
        if part.have:
            headers["Range"] = f"bytes={part.have}-"
            if self._validator:
                headers["If-Range"] = self._validator
        with answer(file.url, headers=headers, silence=self._silence) as response:
            self._begin(response, part)
            for piece in response.iter_raw():  # as they come: with a chunk size, a cut would lose what is collected
                part.append(piece)
                self._control.check_running()
        if not part.is_whole:
            raise TryAgain(f"the server ended {file.path} after {part.have} of {file.size} bytes")

    def _begin(self, response: Response, part: Part) -> None:
        """Finds out which bytes will come, and goes back where they are not the next ones."""
        file = part.file
        start, size = 0, response.headers.get("Content-Length", "*")
        if response.status_code == 206:
            match = _CONTENT_RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if not match or int(match[1]) != part.have:
                raise TryAgain(f"the server sent another part of {file.path} than it was asked for")
            start, size = int(match[1]), match[2]
        if size not in ("*", str(file.size)):
            raise size_differs(file, f"{size} bytes" if size.isdigit() else "no size")
        validator = response.headers.get("ETag", "")
        validator = "" if validator.startswith("W/") else validator
        changed = bool(start and self._validator and validator and validator != self._validator)
        if part.have and (start == 0 or changed):
            self._tell(f"{file.path} starts anew: the server sends another version, or no parts of files")
            part.clear()
        if validator != self._validator:
            self._validator = validator
            note_down(file, self._place, validator)
        if changed:
            raise TryAgain(f"the server has another version of {file.path} now")
