"""Pulls in another process, the states of processes, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from specchat.models.pull import Pull
from support.hub_samples import REPOSITORY

_PULL = f"""
from specchat.models.hub import Hub
from specchat.models.pull import Pull
pull = Pull(Hub().files({REPOSITORY!r}).choose().files)
pull.start()
pull.wait()
"""


@contextmanager
def pulling() -> Iterator[subprocess.Popen[bytes]]:
    """A pull of the repository's model in another process, which is killed at the end of the block."""
    child = subprocess.Popen([sys.executable, "-c", _PULL])
    try:
        yield child
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait()


def wait_until(happened: Callable[[], bool], child: subprocess.Popen[bytes] | None = None) -> None:
    """Waits for a condition while the child runs, at most ten minutes."""
    give_up = time.monotonic() + 600
    while not happened():
        assert child is None or child.poll() is None, "the pull ended before it could be killed"
        assert time.monotonic() < give_up, "it did not happen within ten minutes"
        time.sleep(0.005)


def wait_for_bytes(pull: Pull) -> None:
    """Waits for the first bytes of a pull. Fails if all have arrived already."""
    size = pull.progress().size
    wait_until(lambda: pull.progress().done > 0)
    assert pull.progress().done < size


def xet_processes(parent: int) -> list[int]:
    """The child processes of a process that run hf_xet."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        fields = _fields(int(folder.name))
        if len(fields) > 1 and int(fields[1]) == parent and b"specchat.models.xet" in _command(folder):
            found.append(int(folder.name))
    return found


def running(words: str) -> list[int]:
    """The processes of this machine that run and have these words in their command, other than this one."""
    found = [int(folder.name) for folder in Path("/proc").glob("[0-9]*") if words.encode() in _command(folder)]
    return [pid for pid in found if pid != os.getpid() and not is_gone(pid)]


def state(pid: int) -> str:
    """The state of a process as Linux has it: R, S, T or Z; empty for one that its parent has waited for."""
    return next(iter(_fields(pid)), "")


def is_gone(pid: int) -> bool:
    """True if a process has ended, even if its parent has not waited for it."""
    return state(pid) in ("", "Z")


def _fields(pid: int) -> list[str]:
    """The fields of a process in /proc after its name: its state, its parent …"""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _command(folder: Path) -> bytes:
    try:
        return (folder / "cmdline").read_bytes()
    except OSError:
        return b""
