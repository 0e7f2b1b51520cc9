"""The terminal as the app's input: any bytes are accepted, and losing the terminal ends the app, as signals do.

Textual's driver fails on bytes that are not UTF-8 and reads the end of its input in a loop. It gives keys that arrive
before a widget has the focus to nobody, and takes an answer to a question that it did not ask for keys. It also takes
escape sequences in pasted text for keys. SIGHUP alone does not mean that the terminal is gone: the kernel sends it to
the leader of the session, and `make` for one does not pass it on. Others send it while the terminal is still there.
"""

from __future__ import annotations

import asyncio
import codecs
import os
import re
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic

from textual.app import App
from textual.driver import Driver
from textual.drivers.linux_driver import LinuxDriver

from specchat.terminal.background import ANSWER, LAST_ANSWER, Background
from specchat.tui.paste_filter import PasteFilter

_IDLE_SECONDS = 1.0
"""A character whose bytes pause for so long is incomplete. The parent process is looked for as often."""
_BUSY_SECONDS = 1.0
"""An event loop that does nothing for so long after the terminal was lost waits for the terminal itself."""
_FILTER_SECONDS = 0.05

_PARTIAL_ANSWER = re.compile(r"\x1b(?:\](?:1(?:1(?:;[^\x07\x1b\x9c]{0,40}\x1b?)?)?)?|\[(?:\?[0-9;]{0,40})?)?$")
"""The beginning of an answer at the end of what was read."""
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_READY_TIMEOUT = 5.0
_ANSWER_TIMEOUT = 10.0
_REST_TIMEOUT = 0.1


class InputFilter:
    """Passes text on when the app is ready, without answers to the question for the background colour.

    A bracketed paste is passed on as a whole and without escape sequences (`PasteFilter`).

    After five seconds it passes everything on: an app that never gets ready has to hear that it should end.
    """

    def __init__(self, background: Background, ready: Callable[[], bool]) -> None:
        """`ready` returns whether a key would reach a widget; it is called from the thread that reads the terminal."""
        now = monotonic()
        self._ready: Callable[[], bool] | None = ready
        self._ready_until = now + _READY_TIMEOUT
        self._kept = background.typed
        self._answers_until = now + _ANSWER_TIMEOUT if background.late else 0.0
        self._partial = ""
        self._partial_until = 0.0
        self._pastes = PasteFilter()

    @property
    def waiting(self) -> bool:
        """Whether it holds text that is due after a while, without further input."""
        return bool(self._kept or self._partial) or self._pastes.waiting

    def feed(self, text: str = "", *, early: bool = False) -> str:
        """The text for the app after this input; without new input, what has waited long enough.

        `early` input was typed before the terminal was in raw mode.
        """
        if self._partial and not text and monotonic() >= self._partial_until:
            text, self._partial = self._partial, ""
        elif self._answers_until:
            text = self._without_answers(text)
        text, self._kept = self._kept + text, ""
        if early:
            text = _with_enter(text)
        if self._ready is not None:
            if not self._ready() and monotonic() < self._ready_until:
                self._kept = text
                return ""
            self._ready = None
        return self._pastes.feed(text)

    def _without_answers(self, text: str) -> str:
        if not text:
            return ""
        text = ANSWER.sub("", self._partial + text)
        self._partial = ""
        if LAST_ANSWER.search(text) or monotonic() > self._answers_until:
            self._answers_until = 0.0
            return LAST_ANSWER.sub("", text)
        if begun := _PARTIAL_ANSWER.search(text):
            self._partial, self._partial_until = begun[0], monotonic() + _REST_TIMEOUT
            return text[: begun.start()]
        return text


def _with_enter(typed: str) -> str:
    """Early input with Enter at its end: before the terminal is in raw mode, it sends a newline for Enter.

    Text with several newlines is rather a paste and stays as it is.
    """
    return typed[:-1] + "\r" if typed.endswith("\n") and typed.count("\n") == 1 else typed


class TerminalApp(App[None]):
    """An app that gets its input through an `InputFilter` and ends when its terminal is gone."""

    def __init__(self, background: Background | None = None) -> None:
        """`background` holds what was read from the terminal before the app started."""
        super().__init__()
        self.input_filter = InputFilter(background or Background(), lambda: self.takes_keys)
        self._ends = threading.Lock()
        self.lent = False
        """Whether another program has the terminal: Ctrl+C is meant for that one."""

    def on_load(self) -> None:
        """Listens for signals before the terminal is changed."""
        for number in _ENDING:
            asyncio.get_running_loop().add_signal_handler(number, self._end_by, number)

    @property
    def takes_keys(self) -> bool:
        """Whether a widget has the focus, or the screen wants none to have it."""
        if not self.is_running or not self.screen_stack:
            return False
        return self.screen.is_mounted and (self.screen.focused is not None or self.screen.AUTO_FOCUS == "")

    def get_driver_class(self) -> type[Driver]:
        """Replaces Textual's driver for terminals."""
        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def terminal_lost(self) -> None:
        """Stores what is not stored yet and ends the process at once. May be called from any thread, and twice."""
        if self._ends.acquire(blocking=False):
            try:
                self.keep_now()
            finally:
                os._exit(128 + signal.SIGHUP)

    @contextmanager
    def lending(self) -> Iterator[None]:
        """Gives the terminal to another program for a while; the app goes on without drawing.

        Raises SuspendNotSupported if the terminal cannot be given away.
        """
        failure: Exception | None = None
        with self.batch_update(), self.suspend():
            self.lent = True
            try:
                yield
            except Exception as error:  # noqa: BLE001 - through `suspend`, it would leave the terminal as it is
                failure = error
            finally:
                self.lent = False
        self.refresh(layout=True)
        if failure is not None:
            raise failure

    def keep_now(self) -> None:
        """Stores what would be lost, and closes what would go on, if the process ended now."""

    def _end_by(self, number: signal.Signals) -> None:
        """Leaves with the exit code of a signal and restores the terminal, if it is still there."""
        if sys.__stdin__ is None or not sys.__stdin__.isatty():
            self.terminal_lost()
        if self.lent and number == signal.SIGINT:
            return
        self.exit(return_code=128 + number)


class TerminalDriver(LinuxDriver):
    """Textual's driver, reading from a socket that another thread fills with valid UTF-8 from the terminal."""

    def __init__(
        self, app: TerminalApp, *, debug: bool = False, mouse: bool = True, size: tuple[int, int] | None = None
    ) -> None:
        super().__init__(app, debug=debug, mouse=mouse, size=size)
        self._terminal_app = app
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
        input_filter = self._terminal_app.input_filter
        parent = os.getppid()
        early = True
        while True:
            timeout = 0.0 if early else _FILTER_SECONDS if input_filter.waiting else _IDLE_SECONDS
            readable, _, _ = select.select([terminal, target.fileno()], [], [], timeout)
            if target.fileno() in readable:
                return
            text = ""
            if terminal in readable:
                data = _read(terminal)
                if not data:
                    self._lose_terminal()
                    return
                text = decoder.decode(data)
            elif timeout == _IDLE_SECONDS:
                text = decoder.decode(b"", final=True)
            text = input_filter.feed(text, early=early)
            early = False
            if text:
                try:
                    target.sendall(text.encode())
                except OSError:
                    return
            if os.getppid() != parent:
                # The terminal may still be there for somebody else: leave it as it was found.
                parent = os.getppid()
                self._terminal_app.call_later(self._terminal_app.action_quit)

    def _lose_terminal(self) -> None:
        """Ends the app from its event loop, or from this thread where the loop waits for the terminal's output."""
        begun = threading.Event()

        def end() -> None:
            begun.set()
            self._terminal_app.terminal_lost()

        with suppress(RuntimeError):  # the loop is closed: the app has ended already
            self._event_loop.call_soon_threadsafe(end)
            if not begun.wait(_BUSY_SECONDS):
                end()


def _read(terminal: int) -> bytes:
    """The bytes that the terminal sent; empty if it is gone."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
