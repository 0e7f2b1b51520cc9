"""Whether a file comes by Xet, and the file's next bytes where it does."""

from __future__ import annotations

import os
import re
import threading
from contextlib import closing
from importlib.util import find_spec
from urllib.parse import urljoin, urlsplit

from huggingface_hub.constants import HUGGINGFACE_HEADER_X_XET_HASH

from specchat.errors import HubError
from specchat.models.environment import hub_environment
from specchat.models.hub_files import HubFile
from specchat.models.part import Part
from specchat.models.patience import Control
from specchat.models.transport import TryAgain, answer, own_headers
from specchat.models.xet.order import Order
from specchat.models.xet.transfer import XetFailed, transfer

_HASH = re.compile(r"[0-9a-f]{64}")
_REDIRECTS = 3


class XetSwitch:
    """Whether Xet is tried, for all files of a pull: it is off after the first failure. Any thread may use it."""

    def __init__(self, *, wanted: bool = True) -> None:
        self._lock = threading.Lock()
        self._on = wanted and can_xet()

    @property
    def on(self) -> bool:
        """Whether it is to be tried."""
        return self._on

    def turn_off(self) -> bool:
        """Leaves the rest to plain HTTPS; whether it was on."""
        with self._lock:
            was_on, self._on = self._on, False
        return was_on


class XetSource:
    """One file's bytes from Xet's storage, where it lies there."""

    def __init__(self, file: HubFile, switch: XetSwitch, *, control: Control, silence: float) -> None:
        self._file, self._switch = file, switch
        self._control, self._silence = control, silence
        self._hash: str | None = None
        self._asked = False

    @property
    def has_it(self) -> bool:
        """Whether the file can come by Xet; the hub is asked once."""
        if not (self._switch.on and self._file.is_large):
            return False
        if not self._asked:
            self._hash = xet_hash(self._file, self._silence)
            self._asked = True
        return self._hash is not None

    def receive(self, part: Part) -> None:
        """The rest of the file. Raises XetFailed where not all of it comes, FetchError, OSError, Paused, Stopped."""
        order = Order(
            hash=self._hash or "",
            start=part.have,
            size=self._file.size,
            token_url=self._file.xet_token_url,
            token_headers=own_headers(),
        )
        with closing(transfer(order, self._control, self._silence)) as pieces:
            for piece in pieces:
                part.append(piece)
        if not part.is_whole:
            raise XetFailed(f"it ended after {part.have} of {self._file.size} bytes")


def can_xet() -> bool:
    """Whether this machine can talk Xet, and HF_HUB_DISABLE_XET does not forbid it."""
    return os.name == "posix" and hub_environment().xet and find_spec("hf_xet") is not None


def xet_hash(file: HubFile, silence: float) -> str | None:
    """Xet's name for a file; None where it lies elsewhere, or where the hub does not tell: HTTPS will say why."""
    url = file.url
    try:
        for _ in range(_REDIRECTS):
            with answer(url, method="HEAD", redirects=False, silence=silence) as response:
                found = response.headers.get(HUGGINGFACE_HEADER_X_XET_HASH, "")
                to = response.headers.get("Location", "")
            if _HASH.fullmatch(found):
                return found
            if not to or urlsplit(to).netloc:
                return None
            url = urljoin(url, to)  # a repository that was renamed
    except (TryAgain, HubError):
        return None
    return None
