"""A real terminal for the real program: a private tmux server that takes keys and returns the screen."""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

SPECCHAT = (sys.executable, "-m", "specchat")
PATIENCE = 180.0
_PAUSE = 0.03


def clean_environment(home: Path) -> dict[str, str]:
    """The environment of a returning user with no configuration. All folders are in `home`.

    PYTHONPATH is passed on, so that the program runs the same code as the tests.
    """
    home.mkdir(exist_ok=True)
    welcomed = home / "data" / "specchat" / "welcomed"
    welcomed.parent.mkdir(parents=True, exist_ok=True)
    welcomed.touch()
    return {
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
        "XDG_CACHE_HOME": str(home / "cache"),
        "PATH": os.environ.get("PATH", os.defpath),
        "LANG": "C.UTF-8",
        "COLORTERM": "truecolor",
        **{name: os.environ[name] for name in ("PYTHONPATH",) if name in os.environ},
    }


class Terminal:
    """One command in one window. When the command ends, the screen shows its exit code and the terminal's settings.

    `close` ends the program, its engine and the tmux server. With `leads`, the command itself is the window's process,
    as in `tmux new-session COMMAND`, and nothing is shown after it. What is waited for has `patience` seconds to come.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        width: int = 140,
        height: int = 40,
        *,
        leads: bool = False,
    ):
        # A socket's path is limited to about 100 characters, and a test's folder has a longer path.
        self._folder = tempfile.TemporaryDirectory(prefix="specchat-")
        self.patience = PATIENCE
        self._socket = f"{self._folder.name}/tmux"
        variables = [f"{name}={value}" for name, value in environment.items()]
        run = f'env -i TERM="$TERM" {shlex.join([*variables, *command])}'
        script = f"stty -a; echo before; {run}; echo exit code $?; stty -a; echo after; exec sleep 600"
        size = ("-x", str(width), "-y", str(height))
        window = f"exec {run}" if leads else f"exec sh -c {shlex.quote(script)}"
        self._tmux("-f", "/dev/null", "new-session", "-d", *size, window)

    def close(self) -> None:
        """Ends everything that was started here."""
        processes = [pid for pid, _ in self._descendants()]
        self._tmux("kill-server", check=False)
        for pid in processes:
            _kill(pid)
        self._folder.cleanup()

    def keys(self, *keys: str) -> None:
        """Presses keys, given by tmux's names."""
        self._tmux("send-keys", *keys)

    def type(self, text: str) -> None:
        """Types a text and presses Enter."""
        self._tmux("send-keys", "-l", text)
        self.keys("Enter")

    def raw(self, sequence: str | bytes) -> None:
        """Sends the bytes of keys that tmux has no name for, or of the mouse."""
        data = sequence.encode() if isinstance(sequence, str) else sequence
        self._tmux("send-keys", "-H", *(f"{byte:02x}" for byte in data))

    def resize(self, width: int, height: int) -> None:
        """Resizes the window."""
        self._tmux("resize-window", "-x", str(width), "-y", str(height))

    def ground(self, colour: str) -> None:
        """Sets the window's background colour, which tmux reports to programs that ask."""
        self._tmux("set-option", "-g", "window-style", f"bg={colour}")

    def screen(self, *, colours: bool = False) -> str:
        """The text on the screen, without trailing blanks."""
        shown = self._tmux("capture-pane", "-p", *(["-e"] if colours else []))
        return "\n".join(row.rstrip() for row in shown.splitlines())

    def wait_for(self, pattern: str, *, absent: str | None = None) -> str:
        """The screen, once it matches the regular expression and does not match `absent`."""
        return self.wait_until(
            lambda shown: bool(re.search(pattern, shown)) and not (absent and re.search(absent, shown)),
            f"{pattern!r}" + (f" without {absent!r}" if absent else ""),
        )

    def wait_until(self, condition: Callable[[str], bool], what: str) -> str:
        """The screen, once the condition holds for it. Fails and shows the screen if it never does."""
        deadline = time.monotonic() + self.patience
        while not condition(shown := self.screen()):
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not appear; the screen:\n{shown}")
            time.sleep(_PAUSE)
        return shown

    def state(self, name: str) -> str:
        """The value of one of tmux's variables of the window, such as `alternate_on`."""
        return self._tmux("display-message", "-p", f"#{{{name}}}").strip()

    def engine(self) -> int:
        """The id of the engine's process."""
        return next(pid for pid, command in self._descendants() if "specchat.engine_process" in command)

    def vanish(self, *, stalled_for: float = 0.0) -> None:
        """Removes the terminal, at once or after it has accepted no output for this many seconds."""
        server = int(self.state("pid"))
        if stalled_for:
            os.kill(server, signal.SIGSTOP)
            time.sleep(stalled_for)
        _kill(server)

    def app(self) -> int:
        """The id of the program's own process."""
        return next(
            pid for pid, command in self._descendants() if "-m specchat" in command and "engine_process" not in command
        )

    def parent(self) -> int:
        """The id of the process that started the program."""
        shown = subprocess.run(["ps", "-o", "ppid=", "-p", str(self.app())], capture_output=True, text=True, check=True)
        return int(shown.stdout)

    def _descendants(self) -> list[tuple[int, str]]:
        """The processes in the window, each with its command."""
        root = self._tmux("display-message", "-p", "#{pane_pid}", check=False).strip()
        if not root:
            return []
        listed = subprocess.run(
            ["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        rows = [row.split(None, 2) for row in listed]
        family, found = {root}, []
        grown = True
        while grown:
            grown = False
            for pid, parent, *command in rows:
                if parent in family and pid not in family:
                    family.add(pid)
                    found.append((int(pid), " ".join(command)))
                    grown = True
        return found

    def _tmux(self, *arguments: str, check: bool = True) -> str:
        done = subprocess.run(
            ["tmux", "-u", "-S", self._socket, *arguments],
            env={name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR")},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        if check and done.returncode:
            raise AssertionError(f"tmux {' '.join(arguments)}: {done.stderr}")
        return done.stdout


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
