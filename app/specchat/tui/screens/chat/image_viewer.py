"""An image of a message in full, in place of the app for a while: another program draws it as the terminal can."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import cast

from textual.app import SuspendNotSupported
from textual.screen import Screen

from specchat.pipes import command_of
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.terminal_input import TerminalApp

_MISSING = 3


class ImageViewer:
    """Shows one image at a time. An answer goes on streaming meanwhile."""

    def __init__(self, screen: Screen[None], view: ChatView) -> None:
        self._screen = screen
        self._view = view

    def open(self, image: Path) -> None:
        """Shows an image until a key is pressed."""
        if image.is_file():
            self._screen.run_worker(self._show(image), group="image", exclusive=True)
        else:
            self._view.note("the image was deleted")

    async def _show(self, image: Path) -> None:
        app = cast(TerminalApp, self._screen.app)
        try:
            with app.lending():
                code = await _ended(image)
        except SuspendNotSupported:
            self._view.note("this terminal cannot be given to another program")
        except OSError as error:
            self._view.note(f"the image cannot be shown: {error.strerror or error}")
        else:
            if code == _MISSING:
                self._view.note("showing images needs the extra specchat[files]: pip install 'specchat[files]'")
            elif code:
                self._view.note(f"the image cannot be shown: its program ended with {code}")


async def _ended(image: Path) -> int:
    """The exit code of the program that shows it."""
    process = await asyncio.create_subprocess_exec(*command_of("specchat.attachments.show"), str(image))
    try:
        return await process.wait()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
