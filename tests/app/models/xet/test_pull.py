"""Pulls of files that lie in Xet's storage: hf_xet itself, in its process, against a storage on this machine."""

from __future__ import annotations

import pytest
from huggingface_hub import hf_hub_download

from specchat.models.cache import place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.pull import Pull, PullState
from support.hub_faults import Fault, Wrong
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
        monkeypatch.setattr("specchat.models.xet.source.find_spec", lambda _: None)
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
