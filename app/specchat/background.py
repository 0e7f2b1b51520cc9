"""Commands of specchat that run beside the chat: quietly, at the lowest priority, and never longer than it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

_ENDS_WITH_ITS_CHAT = """
import os, signal, threading
def end_with_the_chat():
    os.read(0, 1)
    os.killpg(0, signal.SIGKILL)
threading.Thread(target=end_with_the_chat, daemon=True).start()
"""
"""Standard input is a pipe that only the chat could write to, so it ends when the chat ends, also by a kill. A command
that stands still cannot read, but the system lets a stopped group go on when its parent dies."""

PROGRAM = "import runpy; runpy.run_module('specchat', run_name='__main__', alter_sys=True)"
"""The rest of what the process runs."""

_NICENESS = 19


def start_quietly(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts specchat with these words, in a process group of its own. The group is killed when this process ends."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-c", _ENDS_WITH_ITS_CHAT + PROGRAM, *words]
    started = subprocess.Popen(command, stdin=_pipe(), stdout=quiet, stderr=quiet, process_group=0)
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, started.pid, _NICENESS)
    return started


@cache
def _pipe() -> int:
    """The end to read of a pipe. The other end is in no other process, and open for as long as this one runs."""
    return os.pipe()[0]
