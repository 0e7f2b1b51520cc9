"""The process that talks Xet ends with whatever wanted it, and what it brought is kept."""

from __future__ import annotations

import subprocess
import threading

import pytest

from specchat.models.cache import place_of
from specchat.models.downloads import Downloads
from specchat.models.environment import hub_environment
from specchat.models.patience import Stopped
from specchat.models.pull import Pull, PullState
from specchat.models.wanted import Wanted
from support.hub_faults import Fault, Wrong
from support.hub_samples import MODEL, PATIENT, REPOSITORY, client, listed, pulled
from support.hub_server import Hub, Repository
from support.processes import is_gone, pulling, wait_for_bytes, wait_until, xet_processes
from support.xet_storage import first_asked


def test_a_pause_ends_the_process_and_xet_goes_on_where_it_was(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.005
    pull = Pull(listed(), PATIENT)
    pull.start()
    wait_for_bytes(pull)
    pull.pause()
    wait_until(lambda: children[0].poll() is not None)
    have, asked = pull.progress().done, len(storage.asked)
    assert pull.progress().state is PullState.PAUSED
    storage.slow = 0
    pull.resume()
    assert pull.wait(30)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    assert first_asked(storage, asked) == have
    assert (len(children), hub.transfers(), pull.progress().notices) == (2, [], ())


def test_a_cancel_ends_the_process_and_keeps_what_arrived(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.005
    files = listed()
    pull = Pull(files, PATIENT)
    pull.start()
    wait_for_bytes(pull)
    pull.cancel()
    assert pull.wait(10)
    with pytest.raises(Stopped):
        pull.result()
    [child] = children
    assert child.returncode is not None
    part = place_of(files[0], hub_environment()).part.read_bytes()
    assert part
    assert large.files[MODEL].startswith(part)


def test_an_application_that_closes_leaves_no_process(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.02
    downloads = Downloads(PATIENT)
    key = downloads.start(Wanted("it", client().files(REPOSITORY).choose()))
    wait_until(lambda: downloads.view(key).progress.done > 0)
    assert [view.name for view in downloads.close()] == ["it"]
    assert [child.returncode is None for child in children] == [False]


def test_a_pull_that_is_killed_takes_its_process_along_and_the_next_goes_on(
    hub: Hub, storage: Hub, large: Repository
) -> None:
    [file] = listed()
    part = place_of(file, hub_environment()).part
    storage.slow = 0.005
    with pulling() as parent:
        wait_until(lambda: part.exists() and part.stat().st_size > 0, parent)
        [child] = xet_processes(parent.pid)
    wait_until(lambda: is_gone(child))
    have, asked = part.stat().st_size, len(storage.asked)
    assert 0 < have < file.size
    storage.slow = 0
    assert pulled((file,), PATIENT).result()[0].read_bytes() == large.files[MODEL]
    assert first_asked(storage, asked) == have
    assert hub.transfers() == []


def test_a_process_that_waits_for_a_silent_storage_does_not_outlive_its_parent(
    hub: Hub, storage: Hub, large: Repository
) -> None:
    storage.misbehave(Fault(Wrong.STALL, api=True))
    with pulling() as parent:
        wait_until(lambda: any("reconstructions" in asked.path for asked in storage.asked), parent)
        [child] = xet_processes(parent.pid)
        threading.Event().wait(0.1)
        assert not is_gone(child)
    wait_until(lambda: is_gone(child))
