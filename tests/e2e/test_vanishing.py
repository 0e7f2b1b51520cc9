"""The terminal or the parent process vanishes during an answer, or a signal ends the program."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from e2e.conftest import FLAGS
from e2e.terminal import PATIENCE, SPECCHAT, Terminal
from e2e.test_chat import ENDLESS, assert_restored, ready, streaming
from specchat.store.records import StoredMessage
from specchat.store.store import Store

Specchat = Callable[..., Terminal]


def comes(condition: Callable[[], bool]) -> bool:
    """True if the condition becomes true before the timeout."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def is_gone(process: int) -> bool:
    """True if the process has ended, including a zombie that nobody has waited for."""
    shown = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True).stdout.strip()
    return not shown or shown.startswith("Z")


def assert_all_end(*processes: int) -> None:
    """Fails if a process is still running, and kills it."""
    try:
        for process in processes:
            assert comes(lambda process=process: is_gone(process)), f"{process} goes on"  # type: ignore[misc]
    finally:
        for process in processes:
            if not is_gone(process):
                os.kill(process, signal.SIGKILL)


def kept(home: Path) -> list[StoredMessage]:
    with Store.open(next(home.rglob("sessions.db"))) as store:
        return store.messages(store.sessions(1)[0].id)


def test_when_the_terminal_vanishes_the_engine_ends_and_the_conversation_is_kept(
    specchat: Specchat, tmp_path: Path
) -> None:
    terminal = specchat("chat", *ENDLESS)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    engine, app = terminal.engine(), terminal.app()
    terminal._tmux("kill-server")
    assert_all_end(engine, app)
    assert comes(lambda: kept(tmp_path / "home")[-1].state == "cut")
    question, answer = kept(tmp_path / "home")
    assert question.content == "Tell me a story"
    assert len(answer.content.split()) > 2
    again = specchat("chat", "--resume")
    again.wait_for(r"▌ Tell me a story(.|\n)*cut off: specchat ended while this was written")


@pytest.fixture
def make(environment: dict[str, str], tmp_path: Path) -> Iterator[Callable[..., Terminal]]:
    """Starts `make chat` in a terminal. On SIGHUP make waits for its children and does not pass the signal on."""
    for tool in ("make", "tmux"):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    makefile = tmp_path / "Makefile"
    makefile.write_text(f"chat:\n\t@{shlex.join([*SPECCHAT, 'chat', *ENDLESS, *FLAGS])}\n")
    terminals: list[Terminal] = []

    def start(*, leads: bool) -> Terminal:
        terminals.append(Terminal(("make", "-f", str(makefile), "chat"), environment, leads=leads))
        return terminals[-1]

    yield start
    for terminal in terminals:
        terminal.close()


def test_under_make_app_and_engine_end_with_the_terminal_and_the_answer_is_kept(
    make: Callable[..., Terminal], tmp_path: Path
) -> None:
    terminal = make(leads=True)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    processes = terminal.engine(), terminal.app()
    terminal.vanish()
    assert_all_end(*processes)
    question, answer = kept(tmp_path / "home")
    assert question.content == "Tell me a story"
    assert len(answer.content.split()) > 2


def test_an_idle_chat_under_make_ends_with_the_terminal(make: Callable[..., Terminal]) -> None:
    terminal = make(leads=True)
    ready(terminal)
    processes = terminal.engine(), terminal.app()
    terminal.vanish()
    assert_all_end(*processes)


def test_a_terminal_that_stalls_before_it_vanishes_keeps_no_process_alive(specchat: Specchat, tmp_path: Path) -> None:
    terminal = specchat("chat", *ENDLESS)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    processes = terminal.engine(), terminal.app()
    terminal.keys(*["C-Home", "C-End"] * 200)
    terminal.vanish(stalled_for=4.0)
    assert_all_end(*processes)
    question, answer = kept(tmp_path / "home")
    assert question.content == "Tell me a story"
    assert len(answer.content.split()) > 2


def test_when_the_parent_ends_the_chat_ends_and_restores_the_terminal(
    make: Callable[..., Terminal], tmp_path: Path
) -> None:
    terminal = make(leads=False)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    processes = terminal.engine(), terminal.app()
    os.kill(terminal.parent(), signal.SIGKILL)
    assert_all_end(*processes)
    terminal.wait_until(lambda _: terminal.state("alternate_on") == "0", "the normal screen")
    assert kept(tmp_path / "home")[0].content == "Tell me a story"


def test_a_signal_ends_the_program_restores_the_terminal_and_keeps_the_answer(
    specchat: Specchat, tmp_path: Path
) -> None:
    terminal = specchat("chat", *ENDLESS)
    ready(terminal)
    terminal.type("Tell me a story")
    streaming(terminal)
    processes = terminal.engine(), terminal.app()
    os.kill(terminal.app(), signal.SIGTERM)
    assert_all_end(*processes)
    assert_restored(terminal, exit_code=128 + signal.SIGTERM)
    question, answer = kept(tmp_path / "home")
    assert question.content == "Tell me a story"
    assert answer.state == "cut"
    assert len(answer.content.split()) > 2
