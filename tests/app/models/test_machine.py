"""This machine, queried in a process of its own."""

from __future__ import annotations

import json

import pytest

from specchat.models import machine
from specchat.models.machine import Place, ask_machine
from specchat.settings.paths import cache_folder


def test_a_child_process_reports_the_devices_and_the_largest_bandwidth_is_stored() -> None:
    first = ask_machine(bandwidth=True)
    assert first.machine.host.total > first.machine.host.free > 0
    assert first.cores >= 1
    assert first.bandwidth is not None
    assert first.bandwidth > 10**8
    kept = cache_folder() / "bandwidth.json"
    assert json.loads(kept.read_text()) == {"bytes_per_second": first.bandwidth}
    kept.write_text(json.dumps({"bytes_per_second": 7e15}))
    assert ask_machine(bandwidth=True).bandwidth == 7e15
    kept.write_text("damaged")
    assert ask_machine().bandwidth is None


def test_a_child_process_that_fails_means_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine.sys, "executable", "/bin/false")
    found = ask_machine()
    assert found == Place(found.machine, 1)
    assert found.machine.devices == ()
    assert found.memory == 0
