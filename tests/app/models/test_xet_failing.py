"""Failures of Xet: the download continues by HTTPS, and one line says so."""

from __future__ import annotations

import re
import socket
import subprocess
from collections.abc import Callable
from dataclasses import replace

import pytest

from specchat.models.pull import Pull
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, MODEL, listed, pulled
from support.hub_server import Hub, Repository
from support.processes import wait_for_bytes


def nobody_is_there(hub: Hub, storage: Hub) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        hub.storage = f"http://127.0.0.1:{closed.getsockname()[1]}"


def the_hub_gives_no_token(hub: Hub, storage: Hub) -> None:
    hub.misbehave(Fault(Wrong.STATUS, 500, api=True))


def storage_does(fault: Fault) -> Callable[[Hub, Hub], None]:
    return lambda _, storage: storage.misbehave(fault)


@pytest.mark.parametrize(
    ("goes_wrong", "why"),
    [
        pytest.param(nobody_is_there, "", id="nobody there"),
        pytest.param(the_hub_gives_no_token, "500 Internal Server Error", id="no token"),
        pytest.param(storage_does(Fault(Wrong.STATUS, 403, api=True)), "", id="refused"),
        pytest.param(storage_does(Fault(Wrong.PORTAL, api=True)), "", id="a web page"),
        pytest.param(storage_does(Fault(Wrong.STALL, api=True)), "nothing came for 5 s", id="silent"),
        pytest.param(storage_does(Fault(Wrong.STALL, 1_000)), "nothing came for 5 s", id="silent within the bytes"),
        pytest.param(storage_does(Fault(Wrong.PORTAL)), "", id="a web page as bytes"),
        pytest.param(storage_does(Fault(Wrong.CUT, 50_000)), "", id="cut"),
        pytest.param(storage_does(Fault(Wrong.CORRUPT, 0)), "", id="no chunk"),
    ],
)
def test_https_delivers_the_complete_file_if_xet_fails(
    hub: Hub,
    storage: Hub,
    tiny: Repository,
    children: list[subprocess.Popen[bytes]],
    goes_wrong: Callable[[Hub, Hub], None],
    why: str,
) -> None:
    """A failing stream may end without an error or with hf_xet's own message, so only our own words are compared."""
    files = listed()
    goes_wrong(hub, storage)
    timeout = 5.0 if "5 s" in why else IMPATIENT.timeout
    pull = pulled(files, replace(IMPATIENT, timeout=timeout))
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    [notice] = pull.progress().notices
    match = re.fullmatch(r"Xet failed: ([^\n]{8,100}); the download continues by HTTPS", notice)
    assert match
    assert why in match[1]
    assert "http://" not in notice
    assert len(hub.transfers()) == 1
    assert [child.returncode is None for child in children] == [False]


def test_bytes_damaged_by_xet_are_downloaded_again_by_https(hub: Hub, storage: Hub, tiny: Repository) -> None:
    storage.misbehave(Fault(Wrong.CORRUPT, 70_000))
    pull = pulled(listed(), IMPATIENT)
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert ["arrived damaged" in line for line in pull.progress().notices] == [True]
    assert len(hub.transfers()) == 1


def test_https_continues_after_xet(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.005
    pull = Pull(listed(), IMPATIENT)
    pull.start()
    wait_for_bytes(pull)
    children[0].kill()
    assert pull.wait(600)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    [notice] = pull.progress().notices
    assert notice.startswith("Xet failed: its process was ended by signal 9; the download continues by HTTPS after ")
    [transfer] = hub.transfers()
    assert re.fullmatch(r"bytes=[1-9]\d+-", transfer.headers["Range"])


def test_a_failure_for_many_files_is_one_notice(hub: Hub, storage: Hub, tiny: Repository) -> None:
    for number in range(1, 4):
        tiny.files[f"big-Q8_0-{number:05}-of-00003.gguf"] = tiny.files[MODEL] + bytes(number)
    storage.misbehave(Fault(Wrong.STATUS, 403, api=True))
    pull = pulled(listed(wanted="Q8_0"), IMPATIENT)
    assert len(pull.result()) == 3
    assert len(pull.progress().notices) == 1
