"""Whether the terminal's background is light. The terminal is asked while the app is being imported.

The question (OSC 11) is followed by one that every terminal answers (DA1): after that answer no other one comes. What
the user types meanwhile is handed on. If the terminal is late, nobody waits for it: whoever reads its input then has to
drop the answers (`tui/terminal_input.py`).
"""

from __future__ import annotations

import os
import re
import select
import sys
import termios
import time
from typing import NamedTuple

ANSWER = re.compile(r"\x1b\]11;(?:rgba?:([0-9a-fA-F/]+))?[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c|\x1b(?=\x1b))")
LAST_ANSWER = re.compile(r"\x1b\[\?[0-9;]*c")

_QUESTIONS = b"\x1b]11;?\x1b\\\x1b[c"
_TIMEOUT = 0.1
_DEAF = ("dumb", "linux", "eterm", "vt", "unknown")
"""Beginnings of TERM of terminals that would show the question or never answer."""
_LIGHT_COLOURS = frozenset({"7", "15"})


class Background(NamedTuple):
    """The answer of a terminal: whether its background is light, what was typed meanwhile, whether more may come."""

    light: bool = False
    typed: str = ""
    late: bool = False


class BackgroundQuestion:
    """A question to the terminal. Read its answer once."""

    def __init__(self, terminal: int) -> None:
        """Asks; `terminal` is the file descriptor of its input. The question goes to standard output."""
        self._terminal = terminal
        self._before = termios.tcgetattr(terminal)
        quiet = termios.tcgetattr(terminal)
        quiet[0] &= ~termios.ICRNL  # Enter stays Enter; else it would be a new line by the time that it is read
        quiet[3] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(terminal, termios.TCSANOW, quiet)
        try:
            os.write(sys.__stdout__.fileno() if sys.__stdout__ else terminal, _QUESTIONS)
        except OSError:
            termios.tcsetattr(terminal, termios.TCSANOW, self._before)
            raise

    def answer(self, timeout: float = _TIMEOUT) -> Background:
        """What has arrived, or arrives within `timeout` seconds. Restores the terminal's settings."""
        deadline = time.monotonic() + timeout
        heard = b""
        try:
            while not LAST_ANSWER.search(heard.decode(errors="ignore")):
                left = max(0.0, deadline - time.monotonic())
                if not select.select([self._terminal], [], [], left)[0] or not (more := os.read(self._terminal, 4096)):
                    break
                heard += more
        finally:
            termios.tcsetattr(self._terminal, termios.TCSANOW, self._before)
        return read_answers(heard.decode(errors="replace"))


def ask_background() -> BackgroundQuestion | None:
    """Asks the terminal; None if there is none, if it may not understand, or if another process uses it."""
    if "COLORFGBG" in os.environ or os.environ.get("TERM", "dumb").startswith(_DEAF):
        return None
    try:
        terminal = sys.stdin.fileno()
        if sys.stdout.isatty() and os.tcgetpgrp(terminal) == os.getpgrp():
            return BackgroundQuestion(terminal)
    except (OSError, ValueError, termios.error):
        pass
    return None


def background_from_environment() -> Background:
    """The background according to COLORFGBG, which some terminals set."""
    return Background(light=os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_COLOURS)


def read_answers(heard: str) -> Background:
    """Separates the answers in the terminal's input from what was typed."""
    answer = ANSWER.search(heard)
    typed = LAST_ANSWER.sub("", ANSWER.sub("", heard))
    return Background(_is_light(answer[1] if answer else None), typed, LAST_ANSWER.search(heard) is None)


def _is_light(colour: str | None) -> bool:
    """Whether a colour such as `ffff/ffff/dddd`, of any number of digits, is nearer to white than to black."""
    parts = [part for part in (colour or "").split("/")[:3] if part]
    if len(parts) < 3:
        return False
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)
