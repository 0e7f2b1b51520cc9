"""Reading the files and pages that a message names, before it is sent: in the background, since it may take a while."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from textual.widgets import TextArea
from textual.worker import Worker

from specchat.chat.attachments import Attachment, read_attachments, takes_time
from specchat.errors import AttachmentError


class Attaching:
    """Reads for one text area, which cannot be changed meanwhile."""

    def __init__(self, area: TextArea, say: Callable[[str], object]) -> None:
        """`say` gets what the user should know."""
        self._area = area
        self._say = say
        self._worker: Worker[None] | None = None

    @property
    def running(self) -> bool:
        """Whether something is read."""
        return self._worker is not None

    def begin(self, message: str, folder: Path, then: Callable[[Sequence[Attachment]], None]) -> None:
        """Reads what the message names, and calls `then` unless that fails or is stopped."""
        if not takes_time(message, folder):
            try:
                then(read_attachments(message, folder))
            except AttachmentError as error:
                self._say(str(error))
            return
        self._area.read_only = True
        self._say("reading what the message names; Esc stops it")
        self._worker = self._area.run_worker(partial(self._read, message, folder, then), group="attachments")

    def stop(self) -> None:
        """Gives up what is read; the message stays where it is."""
        if self._worker is not None:
            self._worker.cancel()
            self._end()
            self._say("nothing was sent")

    async def _read(self, message: str, folder: Path, then: Callable[[Sequence[Attachment]], None]) -> None:
        stopped = threading.Event()
        try:
            attachments = await asyncio.to_thread(read_attachments, message, folder, stopped.is_set)
        except AttachmentError as error:
            self._end()
            self._say(str(error))
            return
        finally:
            stopped.set()
        self._end()
        then(attachments)

    def _end(self) -> None:
        self._worker = None
        self._area.read_only = False
