"""The terminal as the app's input: bytes that are not UTF-8 are replaced, and losing the terminal ends the app.

Textual's driver fails on such bytes and reads the end of its input in a loop. SIGHUP alone does not tell that the
terminal is gone: the kernel sends it to the session's leader, and `make` for one does not pass it on.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import select
import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from textual.drivers.linux_driver import LinuxDriver

if TYPE_CHECKING:
    from specchat.tui.themed import ThemedApp

_IDLE_SECONDS = 1.0
"""A character whose bytes pause for so long is incomplete. The parent is looked for as often."""
_BUSY_SECONDS = 1.0
"""An event loop that does nothing for so long after the terminal was lost waits for the terminal itself."""


class TerminalDriver(LinuxDriver):
    """Textual's driver, reading from a socket that another thread fills with valid UTF-8 from the terminal."""

    def __init__(
        self, app: ThemedApp, *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._themed_app = app
        self._event_loop = asyncio.get_running_loop()

    def run_input_thread(self) -> None:
        """Reads until the app ends or is suspended."""
        terminal = self.fileno
        source, target = socket.socketpair()
        forwarding = threading.Thread(target=self._forward, args=(terminal, target), name="terminal-input", daemon=True)
        self.fileno = source.fileno()
        forwarding.start()
        try:
            super().run_input_thread()
        finally:
            self.fileno = terminal
            source.close()
            forwarding.join()
            target.close()

    def _forward(self, terminal: int, target: socket.socket) -> None:
        """Copies the terminal's input to the socket until the other end is closed or the terminal is gone."""
        decoder = codecs.getincrementaldecoder("utf-8")("replace")
        parent = os.getppid()
        while True:
            readable, _, _ = select.select([terminal, target.fileno()], [], [], _IDLE_SECONDS)
            if target.fileno() in readable:
                return
            if terminal in readable:
                data = _read(terminal)
                if not data:
                    self._lose_terminal()
                    return
                text = decoder.decode(data)
            else:
                text = decoder.decode(b"", final=True)
            if text:
                try:
                    target.sendall(text.encode())
                except OSError:
                    return
            if os.getppid() != parent:
                # The terminal may still be there for somebody else: leave it as it was found.
                parent = os.getppid()
                self._themed_app.call_later(self._themed_app.action_quit)

    def _lose_terminal(self) -> None:
        """Ends the app from its event loop, or from this thread where the loop waits for the terminal's output."""
        begun = threading.Event()

        def end() -> None:
            begun.set()
            self._themed_app.terminal_lost()

        with suppress(RuntimeError):  # the loop is closed: the app has ended already
            self._event_loop.call_soon_threadsafe(end)
            if not begun.wait(_BUSY_SECONDS):
                end()


def _read(terminal: int) -> bytes:
    """What the terminal sent; empty where it is gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
