"""The real `specchat serve` in a process of its own."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True, slots=True)
class RealServer:
    """A server that listens at `url`; what it prints goes to `errors`, and what it logs of prompts to `output`."""

    process: subprocess.Popen[bytes]
    url: str
    errors: Path
    output: Path

    def engines(self) -> list[int]:
        """The processes of the engine."""
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                parent = int(re.findall(r"^PPid:\s+(\d+)", (folder / "status").read_text(), re.MULTILINE)[0])
            except (OSError, IndexError):
                continue
            if parent == self.process.pid:
                found.append(int(folder.name))
        return found

    def interrupt(self) -> int:
        """Ends it as Ctrl+C does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(600)


@contextmanager
def real_server(*flags: str | Path) -> Iterator[RealServer]:
    """A server with these flags, on any free port, that is ready."""
    with tempfile.TemporaryDirectory() as folder:
        errors, output = Path(folder) / "errors", Path(folder) / "output"
        with errors.open("wb") as err, output.open("wb") as out:
            process = _start([*map(str, flags), "--port", "0"], out, err)
        try:
            yield RealServer(process, _url(process, errors), errors, output)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait(600)


def _start(flags: Sequence[str], out: IO[bytes], err: IO[bytes]) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "specchat", "serve", *flags]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)


def _url(process: subprocess.Popen[bytes], errors: Path) -> str:
    """Where it listens. Raises AssertionError with what it printed if it ends instead."""
    while not (found := re.search(r"(http://\S+)/v1", errors.read_text("utf-8"))):
        try:
            process.wait(0.02)
        except subprocess.TimeoutExpired:
            continue
        raise AssertionError(errors.read_text("utf-8"))
    return found[1]
