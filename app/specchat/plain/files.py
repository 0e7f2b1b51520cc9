"""Messages of the plain chat with the files and pages that they name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specchat.chat.attachments import (
    MOST_IMAGES,
    image_in_clipboard,
    images_of,
    pages_named,
    read_attachments,
    sizes_of,
    with_attachments,
)
from specchat.errors import AttachmentError
from specchat.plain.paper import Paper
from specchat.store.images import StoredImage
from specchat.terminal.filter import clean_line


class PlainFiles:
    """Reads what a message names before it is sent. Pages are fetched once the user has agreed."""

    def __init__(self, paper: Paper, ask: Callable[[str, tuple[StoredImage, ...]], None]) -> None:
        """`ask` sends a message with its images."""
        self._paper = paper
        self._ask = ask
        self._waiting = ""
        self._pasted: tuple[str, ...] = ()

    def paste(self) -> None:
        """Lets the image in the clipboard go with the next message that can be read."""
        if len(self._pasted) == MOST_IMAGES:
            self._paper.say(f"The next message has {MOST_IMAGES} images, which is the limit.")
            return
        try:
            image = image_in_clipboard()
        except AttachmentError as error:
            self._paper.say(f"{error}.")
        else:
            self._pasted = (*self._pasted, f"@{image.name}")
            self._paper.say(f"The image {image.label} goes with the next message.")

    def send(self, message: str) -> None:
        """Sends a message, or asks before its pages are fetched."""
        self._waiting = message if (pages := pages_named(message)) else ""
        if pages:
            self._paper.say(f"This fetches {', '.join(map(clean_line, pages))}. A line with only @ does it.")
        else:
            self._read(message)

    def fetch(self) -> None:
        """Sends the message that waits for its pages."""
        message, self._waiting = self._waiting, ""
        if message:
            self._read(message)
        else:
            self._paper.say("Name a file or a page, such as @notes.txt.")

    def _read(self, message: str) -> None:
        message = " ".join((message, *self._pasted))
        try:
            attachments = read_attachments(message, Path.cwd())
        except AttachmentError as error:
            self._paper.say(str(error))
        else:
            self._pasted = ()
            for size in sizes_of(attachments):
                self._paper.say(f"With {size}.")
            self._ask(with_attachments(message, attachments), images_of(attachments))
