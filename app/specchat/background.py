"""Commands of specchat that run beside the chat: quietly, at the lowest priority, and never longer than it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

_HANGS_UP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_DFL); "
"""Also under nohup a command ends with its chat: a stopped group whose parent dies gets a hangup."""

PROGRAM = "import runpy; runpy.run_module('specchat', run_name='__main__', alter_sys=True)"
"""The rest of what the process runs."""

_NICENESS = 19


def start_quietly(words: Sequence[str]) -> subprocess.Popen[bytes]:
    """Starts specchat with these words, in a process group of its own."""
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-c", _HANGS_UP + PROGRAM, *words]
    started = subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, process_group=0)
    with suppress(ProcessLookupError):
        os.setpriority(os.PRIO_PROCESS, started.pid, _NICENESS)
    return started
