"""The application's side of the engine's process: starts it, talks to it, and says why it ended when it does."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING

from specchat.worker.codec import decode_event, encode_command
from specchat.worker.death import describe_death
from specchat.worker.protocol import (
    Cancel,
    ChatMessage,
    Command,
    Ended,
    Event,
    Generate,
    Load,
    Loaded,
    Prepare,
    Quit,
    Set,
    WorkerFailed,
)

if TYPE_CHECKING:
    from specchat_engine import LoadOptions, Settings

_LOG_LIMIT = 1_000_000
_PATIENCE = 2.0
# A failed assertion would otherwise start a debugger, where there is one, and bury the reason under its output.
_ENVIRONMENT = {"GGML_NO_BACKTRACE": "1"}
_LAST_EVENTS = (Loaded, Ended, WorkerFailed)
# -P: a file named numpy.py in the folder where specchat was started must not be imported.
_COMMAND = (sys.executable, "-P", "-m", "specchat.worker")


class WorkerClient:
    """One child process, started on demand and again after it died.

    `load` and `generate` block until the engine answers and yield its events: use them in a thread, one at a time.
    Whatever happens to the process, each of them ends with exactly one Loaded, Ended or WorkerFailed.
    `prepare`, `set`, `cancel` and `close` may be called from any thread at any time.
    """

    def __init__(self, log_path: Path) -> None:
        self._log_path = log_path
        self._log_offset = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._pair: Load | None = None
        self._pair_is_loaded = False
        self._closed = False
        self._one_at_a_time = threading.Lock()
        self._changing = threading.RLock()

    @property
    def alive(self) -> bool:
        """Whether the process runs."""
        return self._process is not None and self._process.poll() is None

    def load(self, target: Path, draft: Path | None, options: LoadOptions) -> Iterator[Event]:
        """Loads a pair: Loading…, then Loaded or WorkerFailed. `Loaded.refusal` says why a draft was left out."""
        with self._one_at_a_time:
            self._pair = Load(str(target), None if draft is None else str(draft), options)
            yield from self._load_pair()

    def generate(
        self, messages: Sequence[ChatMessage], *, turn: int, attempt: int, seed: int, settings: Settings
    ) -> Iterator[Event]:
        """Answers a conversation: Started, Notice, Round…, then Ended or WorkerFailed.

        After the process died the last pair is loaded again first, with its Loading and Loaded events.
        """
        with self._one_at_a_time:
            if not (self.alive and self._pair_is_loaded):
                for event in self._load_pair():
                    yield event
                    if isinstance(event, WorkerFailed):
                        return
            yield from self._converse(Generate(tuple(messages), turn, attempt, seed, settings))

    def prepare(self, messages: Sequence[ChatMessage], *, seed: int, settings: Settings) -> None:
        """Lets an idle engine read what will probably be asked. Nothing comes back; a later call ends it."""
        if self._pair_is_loaded:
            self._send(Prepare(tuple(messages), seed, settings))

    def set(self, settings: Settings) -> None:
        """New settings for the running answer, in force at its next round. Nothing happens while none runs."""
        self._send(Set(settings))

    def cancel(self) -> None:
        """Stops the running load or answer, which then ends as usual. Nothing happens while none runs."""
        self._send(Cancel())

    def close(self) -> None:
        """Ends the process, by force where it does not end by itself. A running `generate` ends with WorkerFailed."""
        with self._changing:
            self._closed = True
            process = self._process
        if process is None:
            return
        self._send(Quit())
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if self._one_at_a_time.acquire(blocking=False):
            self._bury(process)
            self._one_at_a_time.release()

    def _load_pair(self) -> Iterator[Event]:
        if self._pair is None:
            yield WorkerFailed("no model is loaded yet")
            return
        self._pair_is_loaded = False
        for event in self._converse(self._pair):
            self._pair_is_loaded = isinstance(event, Loaded)
            yield event

    def _converse(self, command: Command) -> Iterator[Event]:
        """Sends a command and yields what comes back, up to and with the event that ends it."""
        try:
            process, events = self._running_process()
        except OSError as problem:
            yield WorkerFailed(f"the engine's process cannot be started: {problem}", died=True)
            return
        self._send(command)
        finished = False
        try:
            for event in self._events(process, events):
                finished = isinstance(event, _LAST_EVENTS)
                yield event
                if finished:
                    return
        finally:
            if not finished:
                self._abandon(process, events)

    def _events(self, process: subprocess.Popen[bytes], events: IO[bytes]) -> Iterator[Event]:
        """The process's events; when it ends, the reason."""
        for line in events:
            event = decode_event(line)
            if event is not None:
                yield event
        self._bury(process)
        reason = "the engine was closed" if self._closed else None
        yield WorkerFailed(reason or describe_death(process.returncode, self._log_path, self._log_offset), died=True)

    def _abandon(self, process: subprocess.Popen[bytes], events: IO[bytes]) -> None:
        """The caller stopped listening: stops the answer and takes its remaining events out of the pipe."""
        self._send(Cancel())
        for event in self._events(process, events):
            if isinstance(event, _LAST_EVENTS):
                return

    def _running_process(self) -> tuple[subprocess.Popen[bytes], IO[bytes]]:
        """The process and its events, started where none runs. Raises OSError where none can be started."""
        with self._changing:
            if self._closed:
                raise OSError("the engine was closed")
            if self._process is None or self._process.poll() is not None:
                if self._process is not None:
                    self._bury(self._process)
                self._process = self._start()
            if self._process.stdout is None:
                raise OSError("it has no pipe")
            return self._process, self._process.stdout

    def _start(self) -> subprocess.Popen[bytes]:
        with self._open_log() as log:
            return subprocess.Popen(
                _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, env=_ENVIRONMENT | os.environ
            )

    def _open_log(self) -> IO[bytes]:
        """The log; where it cannot be written, on a full disk say, the engine works without one."""
        try:
            self._log_path.parent.mkdir(parents=True, exist_ok=True)
            if self._log_path.exists() and self._log_path.stat().st_size > _LOG_LIMIT:
                os.truncate(self._log_path, 0)
            log = self._log_path.open("ab")
        except OSError:
            self._log_offset = sys.maxsize
            return Path(os.devnull).open("ab")
        self._log_offset = log.tell()
        return log

    def _send(self, command: Command) -> None:
        """Writes a command. A process that is gone cannot be told anything; whoever reads its events learns why."""
        with self._changing:
            process = self._process
            if process is None or process.stdin is None or process.stdin.closed:
                return
            with suppress(OSError):
                process.stdin.write(encode_command(command).encode() + b"\n")
                process.stdin.flush()

    def _bury(self, process: subprocess.Popen[bytes]) -> None:
        """Waits for a process that ends, and closes the pipes to it."""
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
