"""Stored sessions in a real terminal: after a restart, after a crash, and in two apps at once."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable

from e2e.terminal import Terminal
from e2e.test_chat import DRAFTING, ENDLESS, QUESTION, STATISTICS, ready, streaming, tokens

Specchat = Callable[..., Terminal]


def find(terminal: Terminal, text: str) -> None:
    """Opens the list of sessions, searches, and opens the first result."""
    terminal.keys("C-o")
    terminal.wait_for("type to search")
    terminal.keys(*text)
    terminal.wait_for(rf"Sessions(.|\n)*{text}(.|\n)*message")
    terminal.keys("Enter")
    terminal.wait_for("▌", absent="╭─ Sessions")


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


def test_two_apps_store_their_conversations_and_one_is_continued_after_a_restart(specchat: Specchat) -> None:
    first, second = specchat("chat", *DRAFTING), specchat("chat", *DRAFTING)
    ready(first)
    ready(second)
    first.type(QUESTION)
    second.type("What is a rejected token?")
    first.wait_for(STATISTICS)
    second.wait_for(STATISTICS)
    second.keys("C-o")
    second.wait_for(r"rejected token\?(.|\n)*speculative decoding\?|speculative decoding\?(.|\n)*rejected token\?")
    first.type("/k 3")
    first.wait_for(r"active · model · k 3")
    first.keys("C-q")
    first.wait_for("exit code 0")
    again = specchat("chat")
    ready(again)
    find(again, "speculative")
    again.wait_for(rf"▌ {re.escape(QUESTION)}(.|\n)*{STATISTICS}")
    again.wait_for(r"active · model · k 3")
    again.type("And why does it help?")
    again.wait_until(lambda shown: len(re.findall(STATISTICS, shown)) == 2, "a second answer")


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
