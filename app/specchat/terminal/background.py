"""Whether the terminal's ground is light: it is asked while the app is being imported, so that nobody waits for it.

The question (OSC 11) is followed by one that every terminal answers (DA1), so that its answer tells that no other one
comes. What was typed meanwhile is handed on. A terminal that is late is not waited for: whoever reads its input then
has to expect the answers (`tui/listening.py`).
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
_PATIENCE = 0.1
_DEAF = ("dumb", "linux", "eterm", "vt", "unknown")
"""Beginnings of TERM: terminals that would show the question or never answer."""
_LIGHT_GROUNDS = frozenset({"7", "15"})


class Ground(NamedTuple):
    """What is known of the terminal: whether its ground is light, what was typed, whether answers may still come."""

    light: bool = False
    typed: str = ""
    late: bool = False


class GroundQuestion:
    """A question that was asked of the terminal; the answer is to be read once."""

    def __init__(self, terminal: int) -> None:
        """Asks. `terminal` is the descriptor of its input; the question goes to standard output."""
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

    def answer(self, patience: float = _PATIENCE) -> Ground:
        """What came until now, or comes within so many seconds; the terminal is then as it was before."""
        deadline = time.monotonic() + patience
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


def ask_ground() -> GroundQuestion | None:
    """Asks the terminal; None where it is no terminal, one that may not understand, or not ours at the moment."""
    if "COLORFGBG" in os.environ or os.environ.get("TERM", "dumb").startswith(_DEAF):
        return None
    try:
        terminal = sys.stdin.fileno()
        if sys.stdout.isatty() and os.tcgetpgrp(terminal) == os.getpgrp():
            return GroundQuestion(terminal)
    except (OSError, ValueError, termios.error):
        pass
    return None


def told_ground() -> Ground:
    """What COLORFGBG tells, as some terminals set it."""
    return Ground(light=os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_GROUNDS)


def read_answers(heard: str) -> Ground:
    """What stands in the terminal's input: the answers, and around them what was typed."""
    found = ANSWER.search(heard)
    typed = LAST_ANSWER.sub("", ANSWER.sub("", heard))
    return Ground(_is_light(found[1] if found else None), typed, LAST_ANSWER.search(heard) is None)


def _is_light(colour: str | None) -> bool:
    """Whether a colour such as `ffff/ffff/dddd`, of any number of digits, is nearer to white than to black."""
    parts = [part for part in (colour or "").split("/")[:3] if part]
    if len(parts) < 3:
        return False
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in parts)
    return bool(0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.5)
