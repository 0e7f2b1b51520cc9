"""Shows one picture in the terminal, as well as it can: `python -m specchat.attachments.show FILE`.

Kitty's graphics, Sixel or half blocks: the library asks the terminal what it can, and needs it for itself meanwhile. So
this is a program of its own, to which the app lends the terminal.
"""

from __future__ import annotations

import logging
import os
import re
import select
import shutil
import signal
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Final, NoReturn

_MISSING: Final = 3
"""The exit code if the extra is not installed."""

_HINT: Final = "Any key goes back to the chat."
_STEP: Final = 0.2
"""Seconds between two looks at the size of the window."""

_LOCAL: Final = 3
"""Where the local modes are among a terminal's attributes."""

_ANSWERS: Final = re.compile(rb"\x1b\[[?>]?[0-9;]*[ct]|\x1b_.*?\x1b\\", re.DOTALL)
"""What a slow terminal answers late to the library's questions. It is not a key."""


def main(arguments: list[str]) -> int:
    """Draws the picture and waits for a key."""
    logging.disable(logging.WARNING)  # a terminal that does not answer is warned about in the middle of the picture
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return _show(Path(arguments[0]), None)
    signal.signal(signal.SIGTERM, _leave)
    with _keys(sys.stdin.fileno()) as keys:
        return _show(Path(arguments[0]), keys)


def _show(picture: Path, keys: int | None) -> int:
    """Draws the picture, and waits for a key if there are any."""
    try:
        with _kept_title():
            from specchat.attachments.graphics import Drawing
    except ImportError:
        return _MISSING
    drawing = Drawing(picture, _HINT)
    if keys is None:
        drawing.draw(shutil.get_terminal_size())
        return 0
    with drawing.screen():
        _draw_until_key(keys, drawing.draw)
    return 0


def _draw_until_key(keys: int, draw: Callable[[os.terminal_size], None]) -> None:
    """Draws, and draws again when the window has another size."""
    drawn: os.terminal_size | None = None
    while True:
        if (window := os.get_terminal_size()) != drawn:
            draw(window)
            drawn = window
        if select.select([keys], [], [], _STEP)[0] and is_key(os.read(keys, 4096)):
            return


def is_key(typed: bytes) -> bool:
    """Whether the terminal's input holds a key, or has ended, and is not only an answer of the terminal."""
    return not typed or bool(_ANSWERS.sub(b"", typed))


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    """Ends the program as a signal asks, but with the terminal as it was."""
    raise SystemExit(128 + signal.SIGTERM)


@contextmanager
def _kept_title() -> Iterator[None]:
    """Keeps the title of a pane of tmux, which takes the question for Kitty's graphics for another one."""
    tmux = sys.stdout.isatty() and "TMUX" in os.environ
    if tmux:
        _write("\x1b[22;2t")
    try:
        yield
    finally:
        if tmux:
            _write("\x1b[23;2t")


def _write(sequence: str) -> None:
    sys.stdout.write(sequence)
    sys.stdout.flush()


@contextmanager
def _keys(terminal: int) -> Iterator[int]:
    """The terminal's input with keys as they are pressed, and not shown. Ctrl+C and Ctrl+Z are keys like any other."""
    before = termios.tcgetattr(terminal)
    try:
        tty.setcbreak(terminal)
        mode = termios.tcgetattr(terminal)
        mode[_LOCAL] &= ~termios.ISIG
        termios.tcsetattr(terminal, termios.TCSAFLUSH, mode)
        yield terminal
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
