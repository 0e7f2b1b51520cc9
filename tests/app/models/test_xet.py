"""Pulls by Xet: the real hf_xet, in its process, against a storage on this machine."""

from __future__ import annotations

import pytest
from huggingface_hub import hf_hub_download

from specchat.models.cache import place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.pull import PullState
from specchat.models.xet import XetSwitch, xet_name
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, MODEL, REPOSITORY, listed, pulled
from support.hub_server import TOKEN, XET_TOKEN, Hub, Repository
from support.hub_serving import xet_name_of
from support.xet_storage import Storage, header, range_starts


@pytest.mark.parametrize("version", [1, 2])
def test_a_file_comes_by_xet_only(
    hub: Hub, storage: Storage, large: Repository, environment: HubEnvironment, version: int
) -> None:
    storage.version = version
    [file] = listed()
    pull = pulled((file,), IMPATIENT)
    [path] = pull.result()
    assert path.read_bytes() == large.files[MODEL]
    assert (pull.progress().notices, hub.transfers()) == ((), [])
    assert sorted(one.name for one in path.resolve().parent.iterdir()) == [file.digest]


def test_the_hub_gets_the_login_and_the_storage_the_hubs_token(
    hub: Hub, storage: Hub, large: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    large.gated = True
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    pull = pulled(listed(), IMPATIENT)
    assert pull.result()
    assert pull.progress().notices == ()
    [asked] = [asked for asked in hub.asked if "xet-read-token" in asked.path]
    assert header(asked.headers, "authorization") == f"Bearer {TOKEN}"
    shown = {asked.path.split("/")[1]: header(asked.headers, "authorization") for asked in storage.asked}
    assert shown == {"v2": f"Bearer {XET_TOKEN}", "xorbs": ""}


def test_huggingface_hubs_own_client_accepts_the_storage_of_these_tests(
    hub: Hub, storage: Hub, large: Repository, hugging_face_home: object
) -> None:
    cache = hub_environment().cache
    path = hf_hub_download(REPOSITORY, MODEL, endpoint=hub.url, cache_dir=cache, token=TOKEN)
    [file] = listed()
    assert place_of(file, hub_environment()).snapshot.read_bytes() == large.files[MODEL]
    assert path == str(place_of(file, hub_environment()).snapshot)
    assert hub.transfers() == []


@pytest.mark.parametrize("why", ["variable", "library", "storage"])
def test_https_is_used_if_xet_is_not_wanted_or_not_available(
    hub: Hub, storage: Hub, large: Repository, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    if why == "variable":
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    elif why == "library":
        monkeypatch.setattr("specchat.models.xet.find_spec", lambda _: None)
    elif why == "storage":
        hub.storage = ""
    pull = pulled(listed(), IMPATIENT)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    assert (storage.asked, pull.progress().notices) == ([], ())


def test_xet_continues_after_https(hub: Hub, storage: Hub, large: Repository) -> None:
    files = listed()
    storage.url, hub.storage = hub.storage, ""
    hub.misbehave(Fault(Wrong.CUT, 2_345_678, times=1), Fault(Wrong.STATUS, 404))
    assert pulled(files).progress().state is PullState.FAILED
    hub.storage = storage.url
    assert pulled(files, IMPATIENT).result()[0].read_bytes() == large.files[MODEL]
    assert min(range_starts(storage)) == 2_345_678
    assert len(hub.transfers()) == 2


def test_the_hub_names_a_file_in_xets_storage(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    assert xet_name(file, 60.0) == xet_name_of(tiny.files[MODEL])
    assert hub.asked[-1].method == "HEAD"


def test_a_renamed_repository_is_followed_on_the_hub(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    hub.renamed[file.repository] = "tests/new-GGUF"
    hub.repositories["tests/new-GGUF"] = hub.repositories.pop(file.repository)
    assert xet_name(file, 60.0) == xet_name_of(tiny.files[MODEL])
    hub.renamed = {"tests/new-GGUF": file.repository, file.repository: "tests/new-GGUF"}
    assert xet_name(file, 60.0) is None


@pytest.mark.parametrize("name", ["", "abc", "../../etc", "G" * 64])
def test_an_invalid_name_is_ignored(
    hub: Hub, storage: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("support.hub_server.xet_name_of", lambda _: name)
    assert xet_name(listed()[0], 60.0) is None


def test_a_hub_that_refuses_leaves_the_file_to_https(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    tiny.gated = True
    assert xet_name(file, 60.0) is None
    del hub.repositories[file.repository]
    assert xet_name(file, 60.0) is None


def test_the_switch_is_turned_off_once(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = XetSwitch()
    assert switch.on
    assert [switch.turn_off(), switch.turn_off(), switch.on] == [True, False, False]
    assert not XetSwitch(wanted=False).on
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "yes")
    assert not XetSwitch().on
