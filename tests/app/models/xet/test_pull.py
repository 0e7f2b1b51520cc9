"""Pulls of files that lie in Xet's storage: hf_xet itself, in its process, against a storage on this machine."""

from __future__ import annotations

import re
import socket
import subprocess
import threading
from collections.abc import Callable
from dataclasses import replace

import pytest
from huggingface_hub import hf_hub_download

from specchat.models.cache import place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.patience import Stopped
from specchat.models.pull import Pull, PullState
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, MODEL, REPOSITORY, large_repository, listed, pulled
from support.hub_server import TOKEN, XET_TOKEN, Hub, Repository
from support.processes import is_gone, pulling, wait_until, xet_processes
from support.xet_storage import Storage

PATIENT = replace(IMPATIENT, silence=20.0)
"""Another process has to start before the first byte comes."""


@pytest.fixture
def large(hub: Hub, storage: Hub) -> Repository:
    """The repository `REPOSITORY` of the hub, with one model of some megabytes, which lies in Xet's storage."""
    hub.repositories[REPOSITORY] = large_repository()
    return hub.repositories[REPOSITORY]


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    """The processes that this one starts."""
    started: list[subprocess.Popen[bytes]] = []

    class Remembered(subprocess.Popen[bytes]):
        def __init__(self, *args: object, **options: object) -> None:
            super().__init__(*args, **options)  # type: ignore[call-overload]
            started.append(self)

    monkeypatch.setattr(subprocess, "Popen", Remembered)
    return started


def first_asked(storage: Hub, since: int = 0) -> int:
    """The first byte that the storage was asked for, of all the requests behind the first ones."""
    ranges = [header(asked.headers, "range") for asked in storage.asked[since:] if "reconstructions" in asked.path]
    return min(int(match[1]) for one in ranges if (match := re.match(r"bytes=(\d+)-", one)))


def header(headers: object, name: str) -> str:
    return {key.lower(): value for key, value in dict(headers).items()}.get(name, "")  # type: ignore[call-overload]


def wait_for_bytes(pull: Pull) -> None:
    size = pull.progress().size
    wait_until(lambda: 0 < pull.progress().done < size)


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_comes_by_xet_alone(
    hub: Hub, storage: Storage, large: Repository, environment: HubEnvironment, version: int
) -> None:
    storage.version = version
    [file] = listed()
    pull = pulled((file,), PATIENT)
    [path] = pull.result()
    assert path.read_bytes() == large.files[MODEL]
    assert (pull.progress().notices, hub.transfers()) == ((), [])
    assert sorted(one.name for one in path.resolve().parent.iterdir()) == [file.digest]


def test_the_login_is_for_the_hub_and_its_token_for_the_storage(
    hub: Hub, storage: Hub, large: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.gated = True
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    pull = pulled(listed(), PATIENT)
    assert pull.result()
    assert pull.progress().notices == ()
    [asked] = [asked for asked in hub.asked if "xet-read-token" in asked.path]
    assert header(asked.headers, "authorization") == f"Bearer {TOKEN}"
    told = {asked.path.split("/")[1]: header(asked.headers, "authorization") for asked in storage.asked}
    assert told == {"v2": f"Bearer {XET_TOKEN}", "xorbs": ""}


def test_the_storage_of_these_tests_is_one_to_hugging_faces_own_client(
    hub: Hub, storage: Hub, large: Repository, hugging_face_home: object
) -> None:
    cache = hub_environment().cache
    path = hf_hub_download(REPOSITORY, MODEL, endpoint=hub.url, cache_dir=cache, token=TOKEN)
    [file] = listed()
    assert place_of(file, hub_environment()).snapshot.read_bytes() == large.files[MODEL]
    assert path == str(place_of(file, hub_environment()).snapshot)
    assert hub.transfers() == []


@pytest.mark.parametrize("why", ["variable", "flag", "library", "storage"])
def test_plain_https_where_xet_is_not_wanted_or_not_there(
    hub: Hub, storage: Hub, large: Repository, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "variable":
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    elif why == "library":
        monkeypatch.setattr("specchat.models.xet.source.find_spec", lambda _: None)
    elif why == "storage":
        hub.storage = ""
    pull = Pull(listed(), PATIENT, xet=why != "flag")
    pull.start()
    assert pull.wait(30)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    assert (storage.asked, pull.progress().notices) == ([], ())


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
        pytest.param(storage_does(Fault(Wrong.STATUS, 503, api=True)), "", id="out of order"),
        pytest.param(storage_does(Fault(Wrong.PORTAL, api=True)), "", id="a web page"),
        pytest.param(storage_does(Fault(Wrong.STALL, api=True)), "nothing came for 2 s", id="silent"),
        pytest.param(storage_does(Fault(Wrong.STALL, 1_000)), "nothing came for 2 s", id="silent within the bytes"),
        pytest.param(storage_does(Fault(Wrong.PORTAL)), "", id="a web page as bytes"),
        pytest.param(storage_does(Fault(Wrong.CUT, 50_000)), "", id="cut"),
        pytest.param(storage_does(Fault(Wrong.CORRUPT, 0)), "", id="no chunk"),
    ],
)
def test_where_xet_fails_plain_https_brings_the_whole_file(
    hub: Hub,
    storage: Hub,
    tiny: Repository,
    children: list[subprocess.Popen[bytes]],
    goes_wrong: Callable[[Hub, Hub], None],
    why: str,
) -> None:
    """A failing stream may end without an error, or with hf_xet's own words: only what we say ourselves is compared."""
    files = listed()
    goes_wrong(hub, storage)
    silence = 2.0 if "2 s" in why else PATIENT.silence
    pull = pulled(files, replace(PATIENT, silence=silence))
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    [notice] = pull.progress().notices
    match = re.fullmatch(r"Xet failed: ([^\n]{8,100}); plain HTTPS goes on", notice)
    assert match
    assert why in match[1]
    assert "http://" not in notice
    assert len(hub.transfers()) == 1
    assert [child.returncode is None for child in children] == [False]


def test_bytes_that_xet_damaged_are_fetched_anew_by_https(hub: Hub, storage: Hub, tiny: Repository) -> None:
    storage.misbehave(Fault(Wrong.CORRUPT, 70_000))
    pull = pulled(listed(), PATIENT)
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert ["arrived damaged" in line for line in pull.progress().notices] == [True]
    assert len(hub.transfers()) == 1


def test_https_goes_on_behind_what_xet_brought(
    hub: Hub, storage: Hub, large: Repository, children: list[subprocess.Popen[bytes]]
) -> None:
    storage.slow = 0.005
    pull = Pull(listed(), PATIENT)
    pull.start()
    wait_for_bytes(pull)
    children[0].kill()
    assert pull.wait(30)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    [notice] = pull.progress().notices
    assert notice.startswith("Xet failed: its process was ended by signal 9; plain HTTPS goes on behind ")
    [transfer] = hub.transfers()
    assert re.fullmatch(r"bytes=[1-9]\d+-", transfer.headers["Range"])


def test_xet_goes_on_behind_what_https_brought(hub: Hub, storage: Hub, large: Repository) -> None:
    files = listed()
    storage.url, hub.storage = hub.storage, ""
    hub.misbehave(Fault(Wrong.CUT, 2_345_678, times=1), Fault(Wrong.STATUS, 404))
    assert pulled(files).progress().state is PullState.FAILED
    hub.storage = storage.url
    assert pulled(files, PATIENT).result()[0].read_bytes() == large.files[MODEL]
    assert first_asked(storage) == 2_345_678
    assert len(hub.transfers()) == 2


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


def test_many_files_that_xet_fails_for_are_one_notice(hub: Hub, storage: Hub, tiny: Repository) -> None:
    for number in range(1, 4):
        tiny.files[f"big-Q8_0-{number:05}-of-00003.gguf"] = tiny.files[MODEL] + bytes(number)
    storage.misbehave(Fault(Wrong.STATUS, 403, api=True))
    pull = pulled(listed(wanted="Q8_0"), PATIENT)
    assert len(pull.result()) == 3
    assert len(pull.progress().notices) == 1


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
