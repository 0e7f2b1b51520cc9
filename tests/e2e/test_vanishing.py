"""A terminal that vanishes in mid-answer."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from e2e.terminal import PATIENCE, Terminal
from e2e.test_chat import ENDLESS, ready, streaming
from specchat.store.records import StoredMessage
from specchat.store.store import Store

Specchat = Callable[..., Terminal]


def comes(condition: Callable[[], bool]) -> bool:
    """Whether it comes true while there is patience."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    return False


def kept(home: Path) -> list[StoredMessage]:
    with Store.open(next(home.rglob("sessions.db"))) as store:
        return store.messages(store.sessions(1)[0].id)


def test_a_terminal_that_vanishes_takes_the_engine_with_it_and_leaves_what_was_said(
    specchat: Specchat, tmp_path: Path
) -> None:
    terminal = specchat("chat", *ENDLESS)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    engine, app = terminal.engine(), terminal.app()
    terminal._tmux("kill-server")
    assert comes(lambda: is_gone(engine))
    assert comes(lambda: is_gone(app))
    assert comes(lambda: kept(tmp_path / "home")[-1].state == "cut")
    question, answer = kept(tmp_path / "home")
    assert question.content == "Tell me a story"
    assert len(answer.content.split()) > 2
    again = specchat("chat", "--resume")
    again.wait_for(r"▌ Tell me a story(.|\n)*cut off: specchat ended while this was written")
