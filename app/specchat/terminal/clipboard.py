"""The system's clipboard, through the desktop's own program, or through the terminal if there is none."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator

_TIMEOUT = 2.0


def copy(text: str, through_terminal: Callable[[str], None]) -> str:
    """Copies a text and returns what happened. A terminal does not say whether it took the text."""
    if copy_natively(text):
        return "copied"
    through_terminal(text)
    return "sent to the terminal"


def copy_natively(text: str) -> bool:
    """Copies a text to the clipboard. Returns False if no program of this desktop could.

    A chat over ssh has none. The text can then be sent to the terminal, which does not report success.
    """
    for command in _programs():
        if shutil.which(command[0]) is None:
            continue
        try:
            # xclip and wl-copy stay in the background to serve the text, so their pipes must not be waited for.
            done = subprocess.run(
                command,
                input=text.encode(errors="replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_TIMEOUT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return True
    return False


def reachable() -> bool:
    """Whether this process belongs to a desktop, so that there is a clipboard; one that came over ssh does not."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("WAYLAND_DISPLAY", "DISPLAY")))


def _programs() -> Iterator[tuple[str, ...]]:
    """The programs that may work here, the best first."""
    if sys.platform == "darwin":
        yield ("pbcopy",)
    if os.environ.get("WAYLAND_DISPLAY"):
        yield ("wl-copy",)
    if os.environ.get("DISPLAY"):
        yield ("xclip", "-selection", "clipboard")
        yield ("xsel", "--clipboard", "--input")
    if sys.platform == "win32" or os.environ.get("WSL_DISTRO_NAME"):
        yield ("clip.exe",)
