"""What the scripts of all clients share: where the server is, what it will say, and how a try is reported.

Each script prints a line for each thing that it tried, and ends with one line on stderr if something is wrong. A
scripted model gives known answers. Of a real one only what holds for any model is checked.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

SERVER = os.environ["CLIENT_CHECK_SERVER"]
API = f"{SERVER}/v1"
SCRIPTED = os.environ["CLIENT_CHECK_SCRIPTED"] == "1"
HELLO, DONE = os.environ["CLIENT_CHECK_HELLO"], os.environ["CLIENT_CHECK_DONE"]
"""The scripted answers to a plain question, and after the result of a tool."""

PROGRAMS = Path(os.environ["CLIENT_CHECK_PROGRAMS"])
"""The folder with the programs of the client."""

_SECONDS = 300 if SCRIPTED else 1800


def tried(what: str, holds: object, got: Any = "") -> None:
    """Reports a try. Exits with one line if it does not hold."""
    if not holds:
        sys.exit(f"{what}: got {got!r}"[:300].replace("\n", " "))
    print(what, flush=True)


def answered(what: str, text: str | None, scripted: str = HELLO) -> None:
    """Reports an answer: the scripted one, or any text of a real model, which may answer a result with another call."""
    said = (text or "").strip()
    tried(what, said == scripted if SCRIPTED else said or scripted == DONE, text)


def noted() -> None:
    """Reports that the command of the scripted model was run."""
    notes = Path("notes.txt")
    tried("command", not SCRIPTED or (notes.exists() and notes.read_text() == "noon\n"), "no notes.txt with noon")


def run(program: str, *words: str, **variables: str) -> str:
    """Returns what a program of the client prints. Exits with its last words if it fails or takes too long."""
    streams: Any = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    command, environment = [str(PROGRAMS / program), *words], os.environ | variables
    with subprocess.Popen(command, env=environment, start_new_session=True, **streams) as process:
        try:
            printed, errors = process.communicate(timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            sys.exit(f"{program} took more than {_SECONDS} seconds")
    if process.returncode:
        sys.exit(f"{program} ended with {process.returncode}: {' '.join((errors + printed).split())[-200:]}")
    return printed
