"""Clipboards for tests: a program of the test's own that stands for xclip or wl-paste, and a real one under Xvfb."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

NO_IMAGE = "echo 'Error: target image/png not available' >&2; exit 1"
"""What xclip does if something else was copied."""

HAS_X = shutil.which("Xvfb") is not None and shutil.which("xclip") is not None


class FakeDesktop:
    """A desktop whose programs are in a folder of the test."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, display: str = "DISPLAY") -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        monkeypatch.setenv(display, ":97")
        monkeypatch.setenv("PATH", str(folder))

    def program(self, name: str, script: str) -> None:
        """Adds a shell script under this name."""
        file = self.folder / name
        file.write_text(f"#!/bin/sh\nPATH=/bin:/usr/bin\n{script}\n")
        file.chmod(0o755)

    def copied(self, picture: Path, name: str = "xclip") -> None:
        """Lets the program give this picture, and note how it was called."""
        self.program(name, f'echo "$@" > {self.folder}/how; cat "{picture}"')


@contextmanager
def x_server() -> Iterator[dict[str, str]]:
    """The environment of programs on an X server without a screen."""
    reading, writing = os.pipe()
    command = ("Xvfb", "-displayfd", str(writing), "-screen", "0", "64x64x24", "-nolisten", "tcp")
    server = subprocess.Popen(command, pass_fds=(writing,), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writing)
    with os.fdopen(reading) as display:
        number = display.readline().strip()
    try:
        yield os.environ | {"DISPLAY": f":{number}"}
    finally:
        server.terminate()
        server.wait()


def copy_picture(picture: Path, environment: dict[str, str]) -> None:
    """Copies a picture as another program of the desktop would."""
    command = ("xclip", "-selection", "clipboard", "-t", "image/png", "-i", str(picture))
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
