"""What `specchat` does first. Where there is nothing to read on the command line, reading it would take longer than
everything else until the chat stands on the screen, so that only flags and other commands meet typer."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

from specchat.cli.reporting import complain
from specchat.exits import INTERRUPTED


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command and returns its exit code. Flags without a command belong to `chat`."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if words in ([], ["chat"]):
            return _chat()
        from specchat.cli.app import run_command

        return run_command(words)
    except KeyboardInterrupt:
        return INTERRUPTED
    finally:
        _flush_quietly()


def _chat() -> int:
    """The chat as it is configured."""
    try:
        from specchat.cli.chat import open_chat
        from specchat.settings.config import read_config

        return open_chat(read_config({}), None, plain=False)
    except Exception as error:  # noqa: BLE001 - as `one_line_errors` for all other commands
        return complain(error)


def _flush_quietly() -> None:
    """A pipe that its reader closed and a full disk were dealt with before: Python's last flush must not fail too."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
