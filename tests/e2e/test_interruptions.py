"""Interruptions: an editor gets the terminal, the app is suspended, the terminal is resized, a shell command runs."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from e2e.terminal import Terminal
from e2e.test_chat import ENDLESS, ready, streaming, tokens

Specchat = Callable[..., Terminal]

EDITOR = """#!/bin/sh
echo the editor has "$(cat "$1")"
read typed </dev/tty
test "$typed" = fail && exit 1
echo "$typed" > "$1"
"""


@pytest.fixture
def editor(environment: dict[str, str], tmp_path: Path) -> None:
    """An editor that writes the line that is typed, and that fails if it is `fail`."""
    file = tmp_path / "editor.sh"
    file.write_text(EDITOR)
    file.chmod(0o755)
    environment["EDITOR"] = str(file)


def in_the_editor(terminal: Terminal, times: int) -> None:
    """Opens the editor. What it wrote the times before is still there."""
    terminal.keys("C-x", "C-e")
    terminal.wait_for(rf"(the editor has draft(.|\n)*){{{times}}}", absent="tok/s")


@pytest.mark.usefixtures("editor")
def test_an_answer_survives_an_editor_suspension_and_resizing(specchat: Specchat) -> None:
    terminal = specchat("chat", *ENDLESS, width=80, height=24)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    terminal.keys("-l", "draft")
    endings = (("fail", "ended with exit code 1"), ("C-c", "ended by signal 2|ended with exit code 130"))
    for times, (leave, words) in enumerate(endings, 1):
        in_the_editor(terminal, times)
        terminal.type(leave) if leave == "fail" else terminal.keys(leave)
        terminal.wait_for(words, absent="the editor has")
        terminal.wait_for("› draft\n")
    in_the_editor(terminal, 3)
    terminal.type("written outside")
    terminal.wait_for("› written outside", absent="the editor has")
    terminal.keys("C-z")
    terminal.wait_for("before", absent="specchat-guide")
    assert terminal.state("alternate_on") == "0"
    assert terminal.state("mouse_any_flag") == "0"
    os.kill(terminal.app(), signal.SIGCONT)
    terminal.wait_for("esc Stop")
    terminal.keys("-l", ", still")
    terminal.wait_for("› written outside, still")
    for width, height in ((200, 50), (60, 24), (120, 40)):
        terminal.resize(width, height)
        terminal.wait_until(lambda shown, width=width: fits(shown, width), f"{width} columns")
        assert terminal.engine()
    before = tokens(terminal.wait_for(r"so far +\d+ tokens"))
    terminal.wait_until(lambda shown: tokens(shown) > before, "more tokens")
    terminal.keys("Escape")
    terminal.wait_for(r"stopped · \d+")


def fits(shown: str, width: int) -> bool:
    """True if the line above the prompt has this width."""
    rows = shown.splitlines()
    return any(set(row) == {"─"} and len(row) == width for row in rows) and "esc Stop F1 Help" in rows[-1]


def test_a_shell_command_is_stopped_by_escape_and_ends_with_the_app(specchat: Specchat) -> None:
    terminal = specchat("chat", width=80, height=24)
    ready(terminal)
    terminal.type("!echo begun; sleep 1000")
    terminal.wait_for("Run this command")
    terminal.keys("a")
    terminal.wait_for("▌ begun\n▌ runs; Esc stops it")
    terminal.keys("Escape")
    terminal.wait_for("stopped · goes with the next message")
    terminal.type("!sleep 1000")
    terminal.wait_for("! sleep 1000\n▌ runs")
    terminal.keys("C-q")
    terminal.wait_for("exit code 0")
