"""Stored sessions in a real terminal: after a restart, after a crash, and in two apps at once."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

from e2e.terminal import Terminal
from e2e.test_chat import DRAFTING, ENDLESS, QUESTION, STATISTICS, ready, streaming, tokens

Specchat = Callable[..., Terminal]


def closed(terminal: Terminal) -> None:
    """Quits and waits until the program has ended."""
    terminal.keys("C-q")
    terminal.wait_for("exit code 0")


def find(terminal: Terminal, text: str) -> None:
    """Opens the list of sessions, searches, and opens the first result."""
    terminal.keys("C-o")
    terminal.wait_for("type to search")
    terminal.keys(*text)
    terminal.wait_for(rf"Sessions(.|\n)*{text}(.|\n)*message")
    terminal.keys("Enter")
    terminal.wait_for("▌", absent="╭─ Sessions")


def test_a_conversation_can_be_found_and_continued_after_a_restart(specchat: Specchat) -> None:
    terminal = specchat("chat", *DRAFTING)
    ready(terminal)
    terminal.type(QUESTION)
    terminal.wait_for(STATISTICS)
    terminal.type("/k 3")
    terminal.wait_for(r"active · model · k 3")
    closed(terminal)
    again = specchat("chat")
    ready(again)
    find(again, "speculative")
    again.wait_for(rf"▌ {re.escape(QUESTION)}(.|\n)*{STATISTICS}")
    again.wait_for(r"active · model · k 3")
    again.type("And why does it help?")
    again.wait_until(lambda shown: len(re.findall(STATISTICS, shown)) == 2, "a second answer")


def test_killing_the_app_keeps_the_conversation_and_ends_the_engine(specchat: Specchat) -> None:
    terminal = specchat("chat", *ENDLESS)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    before = tokens(terminal.screen())
    terminal.wait_until(lambda shown: tokens(shown) > before + 200, "more of the answer")
    engine, app = terminal.engine(), terminal.app()
    os.kill(app, signal.SIGKILL)
    terminal.wait_for("exit code 137")
    terminal.wait_until(lambda _: not alive(engine), "the end of the engine")
    again = specchat("chat")
    ready(again)
    find(again, "story")
    again.wait_for("cut off: specchat ended while this was written")


def test_two_apps_store_their_conversations_side_by_side(specchat: Specchat) -> None:
    first, second = specchat("chat", *DRAFTING), specchat("chat", *DRAFTING)
    ready(first)
    ready(second)
    first.type("What is a draft model?")
    second.type("What is a rejected token?")
    first.wait_for(STATISTICS)
    second.wait_for(STATISTICS)
    first.keys("C-o")
    first.wait_for(r"What is a rejected token\?(.|\n)*What is a draft model\?|draft model\?(.|\n)*rejected token\?")


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
