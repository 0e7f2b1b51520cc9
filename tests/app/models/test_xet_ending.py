"""The process that runs hf_xet ends with the pull that started it, and what it delivered is kept."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading

import pytest

from specchat.cli import main
from specchat.models.cache import place_of
from specchat.models.control import Stopped
from specchat.models.downloads import Downloads, Wanted
from specchat.models.environment import hub_environment
from specchat.models.pull import Pull, PullState
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, MODEL, REPOSITORY, client, large_repository, listed, pulled
from support.hub_server import Hub, Repository
from support.processes import is_gone, pulling, wait_for_bytes, wait_until, xet_processes
from support.xet_storage import range_starts

PULL = [sys.executable, "-m", "specchat", "models", "pull", REPOSITORY]


def test_a_pause_ends_the_process_and_resume_continues_by_xet(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.005
    pull = Pull(listed(), IMPATIENT)
    pull.start()
    wait_for_bytes(pull)
    pull.pause()
    wait_until(lambda: children[0].poll() is not None)
    have, asked = pull.progress().done, len(storage.asked)
    assert pull.progress().state is PullState.PAUSED
    storage.slow = 0
    pull.resume()
    assert pull.wait(600)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    assert have in range_starts(storage, asked)
    assert (len(children), hub.transfers(), pull.progress().notices) == (2, [], ())


def test_a_cancel_ends_the_process_and_keeps_what_arrived(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.005
    files = listed()
    pull = Pull(files, IMPATIENT)
    pull.start()
    wait_for_bytes(pull)
    pull.cancel()
    assert pull.wait(600)
    with pytest.raises(Stopped):
        pull.result()
    [child] = children
    assert child.returncode is not None
    part = place_of(files[0], hub_environment()).part.read_bytes()
    assert part
    assert large.files[MODEL].startswith(part)


def test_closing_the_app_leaves_no_process(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.02
    downloads = Downloads(IMPATIENT)
    key = downloads.start(Wanted("it", client().files(REPOSITORY).choose()))
    wait_until(lambda: downloads.view(key).progress.done > 0)
    assert [view.name for view in downloads.close()] == ["it"]
    assert [child.returncode is None for child in children] == [False]


def test_a_killed_pull_leaves_no_process_and_the_next_continues(hub: Hub, storage: Hub, large: Repository) -> None:
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
    assert pulled((file,), IMPATIENT).result()[0].read_bytes() == large.files[MODEL]
    assert have in range_starts(storage, asked)
    assert hub.transfers() == []


def test_a_process_that_waits_for_the_storage_does_not_outlive_its_parent(
    hub: Hub, storage: Hub, large: Repository
) -> None:
    storage.misbehave(Fault(Wrong.STALL, api=True))
    with pulling() as parent:
        wait_until(lambda: any("reconstructions" in asked.path for asked in storage.asked), parent)
        [child] = xet_processes(parent.pid)
        threading.Event().wait(0.1)
        assert not is_gone(child)
    wait_until(lambda: is_gone(child))


@pytest.mark.parametrize(("flags", "by_https"), [(["--no-xet"], True), ([], False)])
def test_a_pull_uses_xet_unless_it_is_turned_off(
    hub: Hub, storage: Hub, tiny: Repository, flags: list[str], by_https: bool
) -> None:
    assert main(["models", "pull", REPOSITORY, *flags]) == 0
    assert (storage.asked == [], len(hub.transfers())) == (by_https, int(by_https))


def test_a_failure_of_xet_is_one_line_and_the_command_succeeds(
    hub: Hub, storage: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    storage.misbehave(Fault(Wrong.STATUS, 403, api=True))
    assert main(["models", "pull", REPOSITORY]) == 0
    shown = [line for line in capsys.readouterr().err.splitlines() if "%" not in line]
    assert len(shown) == 1, shown
    line = shown[0]
    assert line.startswith("specchat: Xet failed: ")
    assert line.endswith("; the download continues by HTTPS")


def test_ctrl_c_ends_the_process(hub: Hub, storage: Hub) -> None:
    hub.repositories[REPOSITORY] = large_repository()
    [file] = listed()
    part = place_of(file, hub_environment()).part
    storage.slow = 0.01
    command = subprocess.Popen(PULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(lambda: part.exists() and part.stat().st_size > 0, command)
    [child] = xet_processes(command.pid)
    assert os.getsid(child) != os.getsid(command.pid), "Ctrl+C would reach it before its parent knows"
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does, to all processes in front
    out, err = command.communicate(timeout=600)
    assert (command.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("specchat: stopped; ")
    assert "Traceback" not in err
    assert is_gone(child)
    assert hub.repositories[REPOSITORY].files[MODEL].startswith(part.read_bytes())
