"""`specchat models pull` where files lie in Xet's storage."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from specchat.cli import main
from specchat.models.cache import place_of
from specchat.models.environment import hub_environment
from support.hub_faults import Fault, Wrong
from support.hub_samples import MODEL, REPOSITORY, large_repository, listed
from support.hub_server import Hub, Repository
from support.processes import is_gone, wait_until, xet_processes

PULL = [sys.executable, "-m", "specchat", "models", "pull", REPOSITORY]


def test_the_flag_leaves_it_to_plain_https(hub: Hub, storage: Hub, tiny: Repository) -> None:
    assert main(["models", "pull", REPOSITORY, "--no-xet"]) == 0
    assert (storage.asked, len(hub.transfers())) == ([], 1)


def test_without_it_the_file_comes_by_xet(hub: Hub, storage: Hub, tiny: Repository) -> None:
    assert main(["models", "pull", REPOSITORY]) == 0
    assert (storage.asked != [], hub.transfers()) == (True, [])


def test_a_failure_of_xet_is_one_line_and_the_command_succeeds(
    hub: Hub, storage: Hub, tiny: Repository, capsys: pytest.CaptureFixture[str]
) -> None:
    storage.misbehave(Fault(Wrong.STATUS, 403, api=True))
    assert main(["models", "pull", REPOSITORY]) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if "%" not in line]
    assert len(told) == 1, told
    line = told[0]
    assert line.startswith("specchat: Xet failed: ")
    assert line.endswith("; plain HTTPS goes on")


def test_ctrl_c_ends_the_process_that_talks_xet_too(hub: Hub, storage: Hub) -> None:
    hub.repositories[REPOSITORY] = large_repository()
    [file] = listed()
    part = place_of(file, hub_environment()).part
    storage.slow = 0.01
    command = subprocess.Popen(PULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    wait_until(lambda: part.exists() and part.stat().st_size > 0, command)
    [child] = xet_processes(command.pid)
    assert os.getsid(child) != os.getsid(command.pid), "Ctrl+C would reach it before its parent knows"
    os.killpg(command.pid, signal.SIGINT)  # as a terminal does, to all processes in front
    out, err = command.communicate(timeout=30)
    assert (command.returncode, out) == (130, "")
    assert err.splitlines()[-1].startswith("specchat: stopped; ")
    assert "Traceback" not in err
    assert is_gone(child)
    assert hub.repositories[REPOSITORY].files[MODEL].startswith(part.read_bytes())
