"""Pulls from a real server that misbehaves in every way."""

from __future__ import annotations

from pathlib import Path

import pytest
from huggingface_hub import scan_cache_dir, try_to_load_from_cache
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from specchat.errors import FetchError, HubError
from specchat.models.cache import place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.model_files import HubFile
from specchat.models.pull import PullState
from support.hub_faults import Fault, Wrong
from support.hub_samples import MODEL, REPOSITORY, listed, pulled, retry_for, tiny_repository
from support.hub_server import TOKEN, Hub, Repository


def visible(environment: HubEnvironment) -> list[Path]:
    """All models that a program finds in the cache."""
    return [path for path in environment.cache.rglob("*.gguf") if path.exists()]


def blob_bytes(file: HubFile) -> bytes:
    return place_of(file, hub_environment()).snapshot.read_bytes()


def test_huggingface_hub_finds_what_was_pulled(hub: Hub, tiny: Repository, environment: HubEnvironment) -> None:
    [file] = listed()
    pull = pulled((file,))
    [path] = pull.result()
    assert path.read_bytes() == tiny.files[MODEL]
    assert try_to_load_from_cache(REPOSITORY, MODEL, cache_dir=environment.cache) == str(path)
    scanned = scan_cache_dir(environment.cache)
    assert not scanned.warnings
    [repo] = scanned.repos
    [revision] = repo.revisions
    assert (repo.repo_id, revision.commit_hash, revision.refs) == (REPOSITORY, tiny.commit, {"main"})
    assert [(one.file_name, one.size_on_disk) for one in revision.files] == [(MODEL, file.size)]
    assert path.is_symlink()
    assert sorted(one.name for one in path.resolve().parent.iterdir()) == [file.digest]
    progress = pull.progress()
    assert (progress.state, progress.done, progress.size) == (PullState.DONE, file.size, file.size)


def test_a_complete_file_is_not_downloaded_again_and_the_token_is_not_sent_to_the_cdn(
    hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    pulled(listed()).result()
    pulled(listed()).result()
    assert len(hub.transfers()) == 1
    assert "Authorization" not in hub.transfers()[0].headers
    assert any("Authorization" in asked.headers for asked in hub.asked if "/resolve/" in asked.path)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Wrong.CUT, 40_000),
        Fault(Wrong.CUT, 0, times=2),
        Fault(Wrong.CORRUPT, 5_000, times=1),
        Fault(Wrong.STATUS, 503, times=2),
        Fault(Wrong.LIMIT, 1, times=1),
        Fault(Wrong.STALL, 20_000, times=1),
        Fault(Wrong.OTHER_RANGE, 7, times=1),
        Fault(Wrong.CHANGE, times=1),
        Fault(Wrong.NO_RANGES),
    ],
    ids=lambda fault: f"{fault.wrong}-{fault.amount}-{fault.times}",
)
@pytest.mark.parametrize("begun", [0, 30_000])
def test_a_passing_fault_ends_with_the_complete_file(hub: Hub, tiny: Repository, fault: Fault, begun: int) -> None:
    files = listed()
    if begun:
        hub.misbehave(Fault(Wrong.CUT, begun, times=1), Fault(Wrong.STATUS, 404))
        assert pulled(files).progress().state is PullState.FAILED
    hub.misbehave(fault)
    [path] = pulled(files, retry_for(fault)).result()
    assert path.read_bytes() == tiny.files[MODEL]


LASTING = [
    (Fault(Wrong.CUT, 10), "connection"),
    (Fault(Wrong.CORRUPT, 5_000), "another checksum than the hub lists"),
    (Fault(Wrong.STATUS, 503), "answers 503, 3 times in a row"),
    (Fault(Wrong.STATUS, 404), "refused with status 404"),
    (Fault(Wrong.STATUS, 416), "fewer bytes"),
    (Fault(Wrong.LIMIT, 600), "asks to wait 600 s"),
    (Fault(Wrong.CHANGE), "another checksum than the hub lists"),
    (Fault(Wrong.LONGER, 10), "sends"),
    (Fault(Wrong.SHORTER, 10), "sends"),
    (Fault(Wrong.LOOP), "redirects in circles"),
    (Fault(Wrong.STALL, 0), "sent nothing"),
    (Fault(Wrong.STALL, 5_000), "sent nothing"),
    (Fault(Wrong.PORTAL), "a proxy or a log-in page may be in between"),
]


@pytest.mark.parametrize(("fault", "words"), LASTING, ids=[f"{fault.wrong}-{fault.amount}" for fault, _ in LASTING])
def test_a_lasting_fault_is_one_line_and_the_next_pull_continues(
    hub: Hub, tiny: Repository, environment: HubEnvironment, fault: Fault, words: str
) -> None:
    files = listed()
    hub.misbehave(fault)
    pull = pulled(files, retry_for(fault))
    with pytest.raises((FetchError, HubError)) as caught:
        pull.result()
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert pull.progress().error == str(caught.value)
    assert visible(environment) == []
    hub.misbehave()
    [path] = pulled(files).result()
    assert path.read_bytes() == tiny.files[MODEL]


def test_an_interrupted_pull_requests_only_the_rest(hub: Hub, tiny: Repository) -> None:
    files = listed()
    hub.misbehave(Fault(Wrong.CUT, 50_000, times=1), Fault(Wrong.STATUS, 404))
    assert pulled(files).progress().state is PullState.FAILED
    place = place_of(files[0], hub_environment())
    assert place.part.stat().st_size == 50_000
    hub.misbehave()
    pulled(files).result()
    assert hub.transfers()[-1].headers["Range"] == "bytes=50000-"
    assert not place.part.exists()


def test_another_range_than_requested_is_not_accepted(hub: Hub, tiny: Repository) -> None:
    files = listed()
    hub.misbehave(Fault(Wrong.CUT, 50_000, times=1), Fault(Wrong.OTHER_RANGE, 9, times=1))
    pull = pulled(files)
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert [asked.headers.get("Range") for asked in hub.transfers()] == [None, "bytes=50000-", "bytes=50000-"]
    assert pull.progress().notices == ()


def test_a_part_that_was_damaged_on_the_disk_is_detected(hub: Hub, tiny: Repository) -> None:
    files = listed()
    hub.misbehave(Fault(Wrong.CUT, 50_000, times=1), Fault(Wrong.STATUS, 404))
    pulled(files)
    with place_of(files[0], hub_environment()).part.open("r+b") as part:
        part.seek(123)
        part.write(b"\0\0\0\0")
    hub.misbehave()
    pull = pulled(files)
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert any("arrived damaged" in line for line in pull.progress().notices)


def test_a_file_that_changed_on_the_hub_starts_again_and_says_so(hub: Hub, tiny: Repository) -> None:
    files = listed()
    hub.misbehave(Fault(Wrong.CUT, 50_000, times=1), Fault(Wrong.STATUS, 404))
    pulled(files)
    hub.misbehave()
    hub.repositories[REPOSITORY] = tiny_repository(seed=2)
    pull = pulled(listed())
    assert pull.result()[0].read_bytes() == hub.repositories[REPOSITORY].files[MODEL]
    assert any("has changed on the hub" in line for line in pull.progress().notices)
    assert not place_of(files[0], hub_environment()).part.exists()


def test_a_broken_model_never_appears_under_its_name(hub: Hub, tiny: Repository, environment: HubEnvironment) -> None:
    tiny.files[MODEL] = tiny.files[MODEL][:1_000]
    with pytest.raises(FetchError, match=f"{MODEL} is truncated"):
        pulled(listed()).result()
    assert visible(environment) == []
    assert not [*environment.cache.rglob("*.part*")]


@pytest.mark.parametrize(
    ("token", "accepted", "words"),
    [
        ("", True, r"is gated: accept its conditions on .*tests/tiny-GGUF, log in with `hf auth login`"),
        (TOKEN, False, r"is gated: accept its conditions on .*tests/tiny-GGUF, then run this again"),
    ],
)
def test_a_gated_model_is_explained(
    hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch, token: str, accepted: bool, words: str
) -> None:
    tiny.gated, hub.may_read_gated = True, accepted
    if token:
        monkeypatch.setenv("HF_TOKEN", token)
    with pytest.raises(HubError, match=words):
        pulled(listed()).result()
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    hub.may_read_gated = True
    assert pulled(listed()).result()


def test_a_file_stored_in_git_is_checked_by_its_git_digest(hub: Hub, tiny: Repository) -> None:
    tiny.plain_git = True
    [file] = listed()
    assert len(file.digest) == 40
    hub.misbehave(Fault(Wrong.CORRUPT, 99, times=1))
    pull = pulled((file,))
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert any("arrived damaged" in line for line in pull.progress().notices)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(cuts=st.lists(st.integers(0, 120_000), max_size=4))
def test_the_file_is_complete_wherever_the_connection_broke(hub: Hub, tiny: Repository, cuts: list[int]) -> None:
    files = listed()
    place = place_of(files[0], hub_environment())
    for path in (place.snapshot, place.blob, place.part, place.note):
        path.unlink(missing_ok=True)
    for cut in cuts:
        hub.misbehave(Fault(Wrong.CUT, cut, times=1), Fault(Wrong.STATUS, 404))
        pulled(files)
    hub.misbehave()
    pulled(files).result()
    assert blob_bytes(files[0]) == tiny.files[MODEL]
