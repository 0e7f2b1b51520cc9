"""Interruptions during an answer: the app is suspended, and the terminal is resized."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from e2e.terminal import Terminal
from e2e.test_chat import ENDLESS, ready, streaming, tokens

Specchat = Callable[..., Terminal]


def test_an_answer_survives_suspension_and_resizing(specchat: Specchat) -> None:
    terminal = specchat("chat", *ENDLESS, width=120, height=40)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    terminal.keys("C-z")
    terminal.wait_for("before", absent="specchat-guide")
    assert terminal.state("alternate_on") == "0"
    assert terminal.state("mouse_any_flag") == "0"
    os.kill(terminal.app(), signal.SIGCONT)
    before = tokens(terminal.wait_for("esc Stop"))
    terminal.wait_until(lambda shown: tokens(shown) > before > 0, "more tokens")
    terminal.keys("-l", "still here")
    terminal.wait_for("› still here")
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
