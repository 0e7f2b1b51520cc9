"""Measures the time from launch to first paint, and to the first answer.

Prints the median and range of several launches in tmux. They take turns with a Textual app that shows one line: its
time is that of Python, Textual and the terminal, and the ratio to it (x) varies less than the times do. Nothing is
polled, because polling would compete for the cores: tmux reports what the program writes. The question is sent at first
paint, and the built-in pair answers.

`PYTHONPATH=tests python -m benchmarks.first_paint [--launches 9] [--tree NAME=FOLDERS …]`, where `FOLDERS` are the
`app`, `engine` and `assets` folders of another version, separated by colons. It needs tmux.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import select
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from e2e.terminal import SPECCHAT, clean_environment

_SIGN = b"Ask something"
_QUESTION, _ANSWER = "How do I quit specchat?", b"Press"
_ONE_WORD = """
from textual.app import App
from textual.widgets import Static

class OneWord(App):
    def compose(self):
        yield Static("Ask something")

OneWord().run()
"""
_LEAST = "an app of one word"
_PATIENCE = 30.0
_CALM = 0.5
_OCTAL = re.compile(rb"\\([0-7]{3})")
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Launched:
    """Seconds from launch to first paint and to the answer. The latter is None if no question was asked."""

    painted: float
    answered: float | None


class Window:
    """A command in a tmux window whose output is read as it is written."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], size: str) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="specchat-")
        self._socket = f"{self._folder.name}/tmux"
        width, height = size.split("x")
        run = shlex.join(["env", "-i", "TERM=screen-256color", *(f"{k}={v}" for k, v in environment.items()), *command])
        self._begun = self._seen = b""
        self._begin = time.perf_counter()
        self._control = subprocess.Popen(
            ["tmux", "-u", "-S", self._socket, "-f", "/dev/null", "-C", "new-session", "-x", width, "-y", height, run],
            env={name: value for name, value in os.environ.items() if name not in ("TMUX", "NO_COLOR")},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def seconds_until(self, shown: bytes) -> float:
        """The time from launch until this text was written, after the text that was last waited for.

        Raises TimeoutError if it does not appear.
        """
        pipe = self._control.stdout
        assert pipe is not None
        while select.select([pipe], [], [], _PATIENCE)[0]:
            arrived = os.read(pipe.fileno(), 65536)
            if not arrived:
                break
            *lines, self._begun = (self._begun + arrived).split(b"\n")
            for line in lines:
                if line.startswith(b"%output "):
                    written = line.split(b" ", 2)[2]
                    self._seen += _OCTAL.sub(lambda found: bytes([int(found[1], 8)]), written)
            if shown in _COLOUR.sub(b"", self._seen):
                self._seen = b""
                return time.perf_counter() - self._begin
        raise TimeoutError(f"{shown!r} was not written")

    def send(self, command: str) -> None:
        """Sends a command to tmux."""
        assert self._control.stdin is not None
        self._control.stdin.write(command.encode() + b"\n")
        self._control.stdin.flush()

    def close(self) -> None:
        """Quits the program and ends the terminal."""
        self.send("send-keys C-q")
        time.sleep(_CALM)
        subprocess.run(["tmux", "-S", self._socket, "kill-server"], capture_output=True, check=False)
        self._control.communicate()
        self._folder.cleanup()


def launch(command: Sequence[str], environment: Mapping[str, str], size: str, *, ask: bool) -> Launched:
    """Starts a program, waits for its first paint, and asks it a question."""
    window = Window(command, environment, size)
    try:
        painted = window.seconds_until(_SIGN)
        answered = None
        if ask:
            window.send(f"send-keys -l {shlex.quote(_QUESTION)}")
            window.send("send-keys Enter")
            answered = window.seconds_until(_ANSWER)
        time.sleep(_CALM)
        return Launched(painted, answered)
    finally:
        window.close()


def row(name: str, launched: Sequence[Launched], least: Sequence[Launched]) -> str:
    """Medians and ranges of several launches, and the ratio of first paint to that of the one-line app."""
    times = median(each.painted / word.painted for each, word in zip(launched, least, strict=True))
    cells = [name.ljust(20), f"{times:.2f} x"]
    for label, seconds in (
        ("first paint", [each.painted for each in launched]),
        ("answer", [each.answered for each in launched if each.answered is not None]),
    ):
        if seconds:
            cells.append(f"{label} {median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})")
    return "  ".join(cells)


def main() -> None:
    """Launches all versions in turns and prints a line for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=9)
    parser.add_argument("--size", default="140x40")
    parser.add_argument("--tree", nargs="*", default=[], metavar="NAME=FOLDERS")
    asked = parser.parse_args()
    own = os.environ.get("PYTHONPATH", "")
    ways = {"specchat": own, **dict(tree.split("=", 1) for tree in asked.tree)}
    launched: dict[str, list[Launched]] = {name: [] for name in (*ways, _LEAST)}
    with tempfile.TemporaryDirectory(prefix="specchat-home-") as home:
        environment = clean_environment(Path(home))
        for number in range(asked.launches + 1):
            for name in random.sample(list(launched), len(launched)):
                if name in ways:
                    taken = launch((*SPECCHAT, "chat"), {**environment, "PYTHONPATH": ways[name]}, asked.size, ask=True)
                else:
                    taken = launch((sys.executable, "-c", _ONE_WORD), environment, asked.size, ask=False)
                if number:  # the first round brings the files into the page cache
                    launched[name].append(taken)
    for name, taken_by in launched.items():
        print(row(name, taken_by, launched[_LEAST]))


if __name__ == "__main__":
    main()
