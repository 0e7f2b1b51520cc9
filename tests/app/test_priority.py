"""The drawing gives way to the engine, once, and whatever the machine allows."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable

import pytest

from specchat.priority import DRAWING_NICENESS, give_way

if not hasattr(os, "nice"):
    pytest.skip("this system has no niceness", allow_module_level=True)


def in_a_thread(*steps: Callable[[], None]) -> int:
    """The niceness of a thread of its own after these steps, so that the tests keep theirs."""
    found: list[int] = []

    def run() -> None:
        for step in steps:
            step()
        found.append(os.nice(0))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    return found[0]


@pytest.mark.skipif(os.uname().sysname != "Linux", reason="elsewhere a niceness belongs to the whole process")
def test_it_gives_way_once_and_no_further() -> None:
    before = in_a_thread()
    assert in_a_thread(give_way) == max(before, DRAWING_NICENESS)
    assert in_a_thread(give_way, give_way) == max(before, DRAWING_NICENESS)
    assert in_a_thread() == before


def test_a_machine_that_refuses_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_increment: int) -> int:
        raise PermissionError("not allowed")

    monkeypatch.setattr(os, "nice", refuse)
    give_way()
