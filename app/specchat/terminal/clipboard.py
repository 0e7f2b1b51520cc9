"""The system's clipboard, through the program that this desktop has for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator

_PATIENCE = 2.0


def copy_natively(text: str) -> bool:
    """Puts a text on the clipboard; False where no program of this desktop could.

    A chat over ssh has none: its terminal can be sent the text instead, which never says whether it took it.
    """
    for command in _programs():
        if shutil.which(command[0]) is None:
            continue
        try:
            # xclip and wl-copy stay in the background to serve the text: no pipe of theirs may be waited for.
            done = subprocess.run(
                command,
                input=text.encode(errors="replace"),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=_PATIENCE,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0:
            return True
    return False


def _programs() -> Iterator[tuple[str, ...]]:
    """What may serve here, the best first."""
    if sys.platform == "darwin":
        yield ("pbcopy",)
    if os.environ.get("WAYLAND_DISPLAY"):
        yield ("wl-copy",)
    if os.environ.get("DISPLAY"):
        yield ("xclip", "-selection", "clipboard")
        yield ("xsel", "--clipboard", "--input")
    if sys.platform == "win32" or os.environ.get("WSL_DISTRO_NAME"):
        yield ("clip.exe",)
