"""This machine, queried in a process of its own."""

from __future__ import annotations

import json
import subprocess

import pytest

from specchat.models import machine
from specchat.models.machine import ComputeDevice, ask_machine
from specchat.settings.paths import cache_folder


def child(monkeypatch: pytest.MonkeyPatch, cpu_share: float) -> None:
    """Lets the child process report a bandwidth of 5 GB/s that was measured with this share of the processors."""
    found = {"devices": [], "repacked": [], "cores": 2, "bandwidth": [5e9, cpu_share]}
    done = subprocess.CompletedProcess([], 0, stdout=json.dumps(found))
    monkeypatch.setattr(machine.subprocess, "run", lambda *_args, **_options: done)


def test_a_bandwidth_that_a_busy_machine_measured_is_marked_and_not_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    child(monkeypatch, 0.5)
    found = ask_machine(bandwidth=True)
    assert (found.bandwidth, found.disturbed) == (5e9, True)
    kept = cache_folder() / "bandwidth.json"
    assert not kept.exists()
    child(monkeypatch, 1.0)
    assert not ask_machine(bandwidth=True).disturbed
    assert json.loads(kept.read_text()) == {"bytes_per_second": 5e9}
    child(monkeypatch, 0.5)
    assert not ask_machine(bandwidth=True).disturbed, "what was measured on the quiet machine holds"


def test_a_child_process_reports_the_devices_and_the_largest_bandwidth_is_stored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = ask_machine(bandwidth=True)
    assert first.machine.host.total > first.machine.host.free > 0
    assert first.cores >= 1
    assert first.bandwidth is not None
    assert first.bandwidth > 10**8
    kept = cache_folder() / "bandwidth.json"
    assert first.disturbed or json.loads(kept.read_text()) == {"bytes_per_second": first.bandwidth}
    child(monkeypatch, 1.0)
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_text(json.dumps({"bytes_per_second": 7e15}))
    assert ask_machine(bandwidth=True).bandwidth == 7e15
    kept.write_text("damaged")
    assert ask_machine(bandwidth=True).bandwidth == 5e9


def test_a_child_process_that_fails_means_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.sys, "executable", "/bin/false")
    found = ask_machine()
    assert found == ComputeDevice(found.machine, 1)
    assert found.machine.devices == ()
    assert found.memory == 0
