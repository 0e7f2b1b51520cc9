"""A draft trains in a process of its own: only on mains power, never during an answer, never longer than the chat."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from specchat import background
from specchat.learning import BackgroundTraining, Learned, Learning
from specchat.learning import background_training as module
from specchat.learning.background_training import on_mains_power
from specchat.learning.learned import NEW_TOKENS
from support.processes import is_gone, state, wait_until


@pytest.fixture
def due(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Learned:
    """A draft with enough to learn. The training is a process that sleeps."""
    learning = Learning()
    learning.turn(on=True)
    learned = learning.of(tmp_path / "target.gguf", tmp_path / "draft.gguf")
    learned.saw(NEW_TOKENS)
    monkeypatch.setattr(background, "PROGRAM", "import time; time.sleep(600)")
    monkeypatch.setattr(module, "is_busy", lambda: False)
    monkeypatch.setattr(module, "on_mains_power", lambda: True)
    return learned


def children() -> list[int]:
    found = Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children")
    return [int(pid) for pid in found.read_text().split()]


def test_it_stands_still_during_an_answer_and_goes_on_after_it(due: Learned, tmp_path: Path) -> None:
    training = BackgroundTraining()
    before = children()
    training.begin(tmp_path / "target.gguf", due)
    assert training.is_running
    (pid,) = [child for child in children() if child not in before]
    assert os.getpriority(os.PRIO_PROCESS, pid) == 19
    training.pause()
    wait_until(lambda: state(pid) == "T")
    training.resume()
    wait_until(lambda: state(pid) in ("S", "R"))
    training.pause()
    training.stop()
    assert not training.is_running
    assert state(pid) == ""


@pytest.mark.parametrize("reason", ["is_busy", "on_mains_power"])
def test_it_does_not_begin_on_a_busy_machine_or_on_battery(
    due: Learned, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    monkeypatch.setattr(module, reason, lambda: reason == "is_busy")
    training = BackgroundTraining()
    training.begin(tmp_path / "target.gguf", due)
    assert not training.is_running


def test_without_enough_to_learn_nothing_begins(due: Learned, tmp_path: Path) -> None:
    due.training_begins()
    training = BackgroundTraining()
    training.begin(tmp_path / "target.gguf", due)
    assert not training.is_running
    training.stop()


def test_a_training_that_stands_still_does_not_outlive_a_chat_that_was_killed(due: Learned, tmp_path: Path) -> None:
    script = f"""
import signal, sys
from pathlib import Path
from specchat import background
from specchat.learning import BackgroundTraining, Learning, background_training as module
signal.signal(signal.SIGHUP, signal.SIG_IGN)
background.PROGRAM, module.is_busy, module.on_mains_power = {background.PROGRAM!r}, lambda: False, lambda: True
target, draft = Path({str(tmp_path / "target.gguf")!r}), Path({str(tmp_path / "draft.gguf")!r})
training = BackgroundTraining()
training.begin(target, Learning().of(target, draft))
training.pause()
print(training._running.pid, flush=True)
sys.stdin.read()
"""
    chat = subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert chat.stdout
    with chat:
        pid = int(chat.stdout.readline())
        wait_until(lambda: state(pid) == "T")
        chat.send_signal(signal.SIGKILL)
        chat.wait()
    wait_until(lambda: is_gone(pid))


@pytest.mark.parametrize(
    ("kind", "status", "mains"),
    [("Battery", "Discharging", False), ("Battery", "Charging", True), ("Mains", "", True)],
)
def test_a_battery_that_discharges_is_no_mains_power(tmp_path: Path, kind: str, status: str, mains: bool) -> None:
    (tmp_path / "supply").mkdir()
    (tmp_path / "supply" / "type").write_text(f"{kind}\n")
    (tmp_path / "supply" / "status").write_text(f"{status}\n")
    assert on_mains_power(tmp_path) is mains
    assert on_mains_power(tmp_path / "nothing")
