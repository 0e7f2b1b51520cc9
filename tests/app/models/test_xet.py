"""Pulls by Xet: the real hf_xet, in its process, against a storage on this machine."""

from __future__ import annotations

import pytest
from huggingface_hub import hf_hub_download

from specchat.models.cache import place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.pull import Pull, PullState
from specchat.models.xet import XetSwitch, xet_name
from support.hub_faults import Fault, Wrong
from support.hub_names import xet_name_of
from support.hub_samples import MODEL, PATIENT, REPOSITORY, listed, pulled
from support.hub_server import TOKEN, XET_TOKEN, Hub, Repository
from support.xet_storage import Storage, first_asked, header


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
        monkeypatch.setattr("specchat.models.xet.find_spec", lambda _: None)
    elif why == "storage":
        hub.storage = ""
    pull = Pull(listed(), PATIENT, xet=why != "flag")
    pull.start()
    assert pull.wait(30)
    assert pull.result()[0].read_bytes() == large.files[MODEL]
    assert (storage.asked, pull.progress().notices) == ([], ())


def test_xet_goes_on_behind_what_https_brought(hub: Hub, storage: Hub, large: Repository) -> None:
    files = listed()
    storage.url, hub.storage = hub.storage, ""
    hub.misbehave(Fault(Wrong.CUT, 2_345_678, times=1), Fault(Wrong.STATUS, 404))
    assert pulled(files).progress().state is PullState.FAILED
    hub.storage = storage.url
    assert pulled(files, PATIENT).result()[0].read_bytes() == large.files[MODEL]
    assert first_asked(storage) == 2_345_678
    assert len(hub.transfers()) == 2


def test_the_hub_tells_xets_name_of_a_file(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    assert xet_name(file, 5.0) == xet_name_of(tiny.files[MODEL])
    assert hub.asked[-1].method == "HEAD"


def test_a_repository_that_was_renamed_is_followed_on_the_hub(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    hub.renamed[file.repository] = "tests/new-GGUF"
    hub.repositories["tests/new-GGUF"] = hub.repositories.pop(file.repository)
    assert xet_name(file, 5.0) == xet_name_of(tiny.files[MODEL])
    hub.renamed = {"tests/new-GGUF": file.repository, file.repository: "tests/new-GGUF"}
    assert xet_name(file, 5.0) is None


@pytest.mark.parametrize("name", ["", "abc", "../../etc", "G" * 64])
def test_what_cannot_be_a_name_is_none(
    hub: Hub, storage: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("support.hub_server.xet_name_of", lambda _: name)
    assert xet_name(listed()[0], 5.0) is None


def test_a_hub_that_cannot_tell_leaves_it_to_https(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    tiny.gated = True
    assert xet_name(file, 5.0) is None
    del hub.repositories[file.repository]
    assert xet_name(file, 5.0) is None


def test_the_switch_is_turned_off_once(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = XetSwitch()
    assert switch.on
    assert [switch.turn_off(), switch.turn_off(), switch.on] == [True, False, False]
    assert not XetSwitch(wanted=False).on
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "yes")
    assert not XetSwitch().on
