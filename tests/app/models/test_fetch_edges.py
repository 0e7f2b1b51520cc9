"""Special cases of pulls: complete parts, full disks, odd names, damaged notes."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from specchat.errors import FetchError, HubError
from specchat.models.cache import partials, place_of
from specchat.models.environment import HubEnvironment
from specchat.models.library import models
from specchat.models.part import PartialFile
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, MODEL, REPOSITORY, listed, pulled, tiny_model
from support.hub_server import Hub, Repository
from support.processes import pulling, wait_until


@pytest.fixture(params=["https", "xet"])
def way(request: pytest.FixtureRequest) -> str:
    """Runs a test once with plain HTTPS and once with Xet."""
    if request.param == "xet":
        request.getfixturevalue("storage")
    return str(request.param)


def begun(environment: HubEnvironment, content: bytes) -> Path:
    """A part with these bytes, as an interrupted pull leaves it."""
    [file] = listed()
    part = place_of(file, environment).part
    part.parent.mkdir(parents=True)
    part.write_bytes(content)
    return part


@pytest.mark.parametrize("more", [b"", b"something else"])
def test_a_complete_part_is_installed_without_a_request_and_bytes_after_its_end_are_cut_off(
    hub: Hub, tiny: Repository, environment: HubEnvironment, way: str, more: bytes
) -> None:
    begun(environment, tiny.files[MODEL] + more)
    assert pulled(listed()).result()[0].read_bytes() == tiny.files[MODEL]
    assert [asked.path for asked in hub.asked if not asked.path.startswith("/api/")] == []


def test_a_part_with_other_content_is_detected(
    hub: Hub, tiny: Repository, environment: HubEnvironment, way: str
) -> None:
    begun(environment, b"x" * 50_000)
    pull = pulled(listed(), IMPATIENT)
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert "arrived damaged" in pull.progress().notices[-1]


def test_a_damaged_note_loses_no_bytes(hub: Hub, tiny: Repository, environment: HubEnvironment) -> None:
    part = begun(environment, tiny.files[MODEL][:50_000])
    part.with_name(f"{part.name}.json").write_text('{"repository": [[[', "utf-8")
    assert pulled(listed()).result()[0].read_bytes() == tiny.files[MODEL]
    assert [asked.headers["Range"] for asked in hub.transfers()] == ["bytes=50000-"]


def test_a_full_disk_is_reported_and_what_arrived_is_kept(
    hub: Hub, tiny: Repository, environment: HubEnvironment, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = listed()
    append = PartialFile.append

    def full(self: PartialFile, piece: bytes) -> None:
        append(self, piece[: 70_000 - self.have])
        if self.have >= 70_000:
            raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(PartialFile, "append", full)
        missing = len(tiny.files[MODEL]) - 70_000
        with pytest.raises(FetchError, match=f"no space is left in .* free {missing} bytes, or set HF_HOME"):
            pulled(files).result()
    assert place_of(files[0], environment).part.read_bytes() == tiny.files[MODEL][:70_000]
    assert pulled(files).result()[0].read_bytes() == tiny.files[MODEL]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refused_download_leaves_nothing_behind(
    hub: Hub, tiny: Repository, environment: HubEnvironment, status: int
) -> None:
    hub.misbehave(Fault(Wrong.STATUS, status))
    with pytest.raises(HubError):
        pulled(listed()).result()
    assert models() == []
    assert not [*environment.cache.rglob("*.part*")]


def test_a_disk_that_was_full_before_leaves_no_empty_part(
    hub: Hub, tiny: Repository, environment: HubEnvironment, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_part: PartialFile, _piece: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(PartialFile, "append", full)
    with pytest.raises(FetchError, match="no space is left"):
        pulled(listed()).result()
    assert models() == []
    assert not [*environment.cache.rglob("*.part*")]


@pytest.mark.parametrize("name", ["50%-c#1+2-Q8_0.gguf", "großes Modell/é-Q8_0.gguf"])
def test_a_file_may_have_an_odd_name(hub: Hub, way: str, name: str) -> None:
    hub.repositories[REPOSITORY] = Repository({name: tiny_model(1)})
    [path] = pulled(listed()).result()
    assert path.read_bytes() == tiny_model(1)
    assert path.as_posix().endswith(name)


def test_an_empty_file_is_not_a_model(hub: Hub, environment: HubEnvironment, way: str) -> None:
    hub.repositories[REPOSITORY] = Repository({MODEL: b""})
    with pytest.raises(FetchError, match=MODEL):
        pulled(listed()).result()
    assert not [*environment.cache.rglob("*.gguf")]


def test_a_pull_that_goes_offline_keeps_its_part(
    hub: Hub, tiny: Repository, environment: HubEnvironment, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = listed()
    part = begun(environment, tiny.files[MODEL][:50_000])
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(HubError, match="HF_HUB_OFFLINE is set"):
        pulled(files).result()
    assert part.stat().st_size == 50_000


def test_a_pull_that_was_killed_is_completed_by_the_next(
    hub: Hub, tiny: Repository, environment: HubEnvironment
) -> None:
    [file] = listed()
    place = place_of(file, environment)
    hub.slow = 0.05
    with pulling() as child:
        wait_until(lambda: place.part.exists() and place.part.stat().st_size > 20_000, child)
    have = place.part.stat().st_size
    assert have < file.size
    assert not place.snapshot.exists()
    [left] = partials(place.blob.parents[1])
    assert (left.file, left.have) == (file, have)
    hub.slow = 0
    [path] = pulled((file,)).result()
    assert path.read_bytes() == tiny.files[MODEL]
    assert [asked.headers.get("Range", "") for asked in hub.transfers()] == ["", f"bytes={have}-"]
