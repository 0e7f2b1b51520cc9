"""The engine's process as the application sees it: started, written to, ended, and its end explained."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock
from typing import IO, Final

from specchat.engine_process.lines import encode
from specchat.engine_process.process_log import ProcessLog
from specchat.engine_process.protocol import Command, Quit, TaskFailed

CLOSED: Final = "the engine was closed"

# Otherwise a failed assertion starts a debugger, if there is one, and its output buries the reason; and numpy starts
# threads for matrix products, which are not used here and spin while they wait.
_ENVIRONMENT = {"GGML_NO_BACKTRACE": "1", "OPENBLAS_NUM_THREADS": "1"}


def command_of(module: str) -> tuple[str, ...]:
    """The command that runs a module as a process."""
    # -P: a file named numpy.py in the folder where specchat was started must not be imported.
    return sys.executable, "-P", "-m", module


class EngineProcess:
    """A child process that runs the engine, from its start to its end.

    `events` is read by one reader, which calls `death` after its end. Any thread may call everything else.
    """

    def __init__(self, log_path: Path, patience_s: float) -> None:
        """Starts it. It is killed if it takes longer than `patience_s` to end. Raises OSError if it cannot start."""
        self._log = ProcessLog(log_path)
        self._patience_s = patience_s
        self._writing = Lock()
        self.ending = False
        pipe, environment = subprocess.PIPE, _ENVIRONMENT | os.environ
        with self._log.open() as log:
            self.child = subprocess.Popen(
                command_of("specchat.engine_process"), stdin=pipe, stdout=pipe, stderr=log, env=environment
            )

    @property
    def alive(self) -> bool:
        """Whether it runs."""
        return self.child.poll() is None

    @property
    def events(self) -> IO[bytes]:
        """Its events, one a line."""
        assert self.child.stdout is not None
        return self.child.stdout

    def write(self, command: Command, number: int = 0) -> None:
        """Writes a command. If the process is gone, the reader of the events learns the reason.

        Raises RecursionError for a command that is nested too deeply.
        """
        assert self.child.stdin is not None
        line = encode(command, number)
        with self._writing, suppress(OSError, ValueError):  # ValueError: the pipe is closed
            self.child.stdin.write(line)
            self.child.stdin.flush()

    def end(self) -> None:
        """Ends the process, by force if necessary."""
        self.ending = True
        self.write(Quit())
        self._wait()

    def death(self) -> TaskFailed:
        """Waits for a process that closed its pipe or was ended, closes the pipes to it, and says why it ended."""
        self._wait()
        for pipe in (self.child.stdin, self.child.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        return TaskFailed(CLOSED if self.ending else self._log.describe_death(self.child.returncode), died=True)

    def _wait(self) -> None:
        """Waits for the process, and kills it after a while."""
        try:
            self.child.wait(self._patience_s)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()
