"""Shows one picture in the terminal, as well as it can: `python -m specchat.attachments.show FILE`.

Kitty's graphics, Sixel or half blocks: the library asks the terminal what it can, and needs it for itself meanwhile. So
this is a program of its own, to which the app lends the terminal.
"""

from __future__ import annotations

import logging
import sys
import termios
import tty
from pathlib import Path

_MISSING = 3
"""The exit code if the extra is not installed."""


def main(arguments: list[str]) -> int:
    """Draws the picture and waits for a key."""
    logging.disable(logging.WARNING)  # a terminal that does not answer is warned about in the middle of the picture
    try:
        from textual_image.renderable import Image
    except ImportError:
        return _MISSING
    from rich.console import Console

    console = Console()
    console.clear()
    console.print(Image(Path(arguments[0]), width="auto", height=max(1, console.height - 3)))
    console.print("Any key goes back to the chat.", style="dim")
    _wait_for_key()
    return 0


def _wait_for_key() -> None:
    if not sys.stdin.isatty():
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        sys.stdin.read(1)
    finally:
        termios.tcsetattr(descriptor, termios.TCSAFLUSH, before)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
