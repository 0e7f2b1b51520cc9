"""The image in the clipboard becomes a part of the message: read in the background, since a program has to be asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Final

from specchat.chat.attachments import image_in_clipboard
from specchat.errors import AttachmentError
from specchat.tui.widgets.composer import Composer

_SLOW: Final = 1.0
"""Seconds after which the user sees why keys wait. A screenshot of a large screen takes longer."""


class ImagePaste:
    """Pastes into one text area. What is typed meanwhile waits, and so lands after the image."""

    def __init__(self, area: Composer, say: Callable[[str], object]) -> None:
        """`say` gets what the user should know."""
        self._area = area
        self._say = say
        self._over: asyncio.Event | None = None

    async def done(self) -> None:
        """Waits until the clipboard is read, which takes a few seconds at most."""
        if self._over is not None:
            await self._over.wait()

    def begin(self, otherwise: str = "") -> None:
        """Mentions the image at the cursor; pastes the other text if there is none, or says why."""
        if self._over is None:
            self._over = asyncio.Event()
            self._area.run_worker(self._read(self._over, otherwise), group="clipboard")

    async def _read(self, over: asyncio.Event, otherwise: str) -> None:
        stopped = threading.Event()
        slow = asyncio.get_running_loop().call_later(_SLOW, self._say, "reading the clipboard …")
        try:
            image = await asyncio.to_thread(image_in_clipboard, stopped.is_set)
        except AttachmentError as error:
            if otherwise:
                self._area.paste(otherwise)
            else:
                self._say(str(error))
        else:
            self._area.insert_word(f"@{image.name}")
            self._say(f"with the image {image.label}")
        finally:
            slow.cancel()
            stopped.set()
            self._over = None
            over.set()
