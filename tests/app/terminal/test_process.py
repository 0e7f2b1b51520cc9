"""Ctrl+C while an answer is written line by line."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from specchat.terminal.process import DRAWING_NICENESS, give_way, stops_on_interrupt


def test_the_first_interrupt_stops_the_answer_and_the_second_one_the_program() -> None:
    stopped: list[str] = []
    before = signal.getsignal(signal.SIGINT)
    with stops_on_interrupt(lambda: stopped.append("stopped")):
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert stopped == ["stopped"]
    assert signal.getsignal(signal.SIGINT) is before


if not hasattr(os, "nice"):
    pytest.skip("this system has no niceness", allow_module_level=True)

_NICENESSES = """
import os, threading
from specchat.terminal.process import give_way

found, go = [], threading.Event()

def note():
    found.append(os.getpriority(os.PRIO_PROCESS, threading.get_native_id()))

def wait():
    go.wait(600)
    note()

early = threading.Thread(target=wait)
early.start()
os.nice({nicer})
give_way()
give_way()
go.set()
early.join()
late = threading.Thread(target=note)
late.start()
late.join()
note()
print(*found)
"""


def nicenesses(nicer: int = 0) -> list[int]:
    """After giving way: of a thread that was there before, of one that came later, of the first one."""
    script = _NICENESSES.format(nicer=nicer)
    done = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=600)
    return [int(word) for word in done.stdout.split()]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a niceness belongs to the whole process")
def test_all_threads_give_way_once_and_no_further() -> None:
    assert nicenesses() == [max(os.nice(0), DRAWING_NICENESS)] * 3


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a niceness belongs to the whole process")
def test_what_gave_way_further_already_stays_there() -> None:
    assert nicenesses(nicer=15)[1:] == [min(os.nice(0) + 15, 19)] * 2


def test_a_machine_that_refuses_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_kind: int, _thread: int, _niceness: int) -> None:
        raise PermissionError("not allowed")

    before = os.nice(0)
    monkeypatch.setattr(os, "setpriority", refuse)
    give_way()
    assert os.nice(0) == before
