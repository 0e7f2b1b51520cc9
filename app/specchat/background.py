"""Commands of specchat that run beside the chat: quietly, at the lowest priority, and never longer than it."""

from __future__ import annotations

import asyncio
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


async def run_quietly(words: Sequence[str]) -> tuple[str, str]:
    """Runs specchat with these words. Returns what it wrote to its output and to its errors.

    The process is killed if the caller is cancelled, and when this process ends.
    """
    piped = subprocess.PIPE
    started = await asyncio.create_subprocess_exec(
        *_command(words), stdin=_pipe(), stdout=piped, stderr=piped, process_group=0
    )
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, started.pid, _NICENESS)
    try:
        output, errors = await started.communicate()
    finally:
        if started.returncode is None:
            with suppress(ProcessLookupError):
                started.kill()
    return output.decode("utf-8", "replace"), errors.decode("utf-8", "replace")


def start_quietly(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts specchat with these words, in a process group of its own. The group is killed when this process ends."""
    quiet = subprocess.DEVNULL
    started = subprocess.Popen(_command(words), stdin=_pipe(), stdout=quiet, stderr=quiet, process_group=0)
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, started.pid, _NICENESS)
    return started


def _command(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-c", _ENDS_WITH_ITS_CHAT + PROGRAM, *words]


@cache
def _pipe() -> int:
    """The end to read of a pipe. The other end is in no other process, and open for as long as this one runs."""
    return os.pipe()[0]
