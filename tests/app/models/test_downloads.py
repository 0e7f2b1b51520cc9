"""Downloads in the background, from the tests' hub."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.models.cache import bytes_here
from specchat.models.downloads import Downloads, Wanted, remember, unfinished
from specchat.models.environment import hub_environment
from specchat.models.pull import PullState
from specchat.settings.paths import unfinished_file
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, MODEL, REPOSITORY, client, tiny_model, tiny_repository, wait_until_still
from support.hub_server import Hub, Repository
from support.processes import wait_until


def wanted(repository: str = REPOSITORY) -> Wanted:
    return Wanted(f"{repository}:F16", client().files(repository).choose())


def state(downloads: Downloads, key: int) -> PullState:
    return downloads.view(key).progress.state


def begun(downloads: Downloads, key: int) -> bool:
    return 0 < downloads.view(key).percent < 100


@pytest.fixture
def downloads() -> Downloads:
    return Downloads(IMPATIENT)


def test_a_complete_pair_can_be_loaded(hub: Hub, downloads: Downloads) -> None:
    hub.repositories = {"a/big-GGUF": tiny_repository(1), "a/small-GGUF": tiny_repository(2)}
    both = [client().files(name).choose() for name in hub.repositories]
    key = downloads.start(Wanted("the pair", *both))
    wait_until(lambda: state(downloads, key) is PullState.DONE)
    arrived = downloads.arrived(key)
    assert arrived is not None
    assert arrived.target is not None
    assert arrived.draft is not None
    assert (arrived.target.read_bytes(), arrived.draft.read_bytes()) == (tiny_model(1), tiny_model(2))


def test_one_of_several_downloads_pauses(hub: Hub, downloads: Downloads) -> None:
    hub.repositories = {"a/one-GGUF": tiny_repository(1), "a/two-GGUF": tiny_repository(2)}
    hub.slow = 0.02
    one, two = (downloads.start(wanted(name)) for name in hub.repositories)
    wait_until(lambda: begun(downloads, one) and begun(downloads, two))
    downloads.pause(one)
    wait_until_still(lambda: downloads.view(one).progress.done)
    hub.slow = 0.0
    wait_until(lambda: state(downloads, two) is PullState.DONE)
    assert state(downloads, one) is PullState.PAUSED
    assert downloads.arrived(one) is None
    downloads.resume(one)
    wait_until(lambda: state(downloads, one) is PullState.DONE)


def test_a_cancelled_download_continues_where_it_stopped(hub: Hub, tiny: Repository, downloads: Downloads) -> None:
    hub.slow = 0.02
    key = downloads.start(wanted())
    wait_until(lambda: begun(downloads, key))
    downloads.cancel(key)
    wait_until(lambda: state(downloads, key) is PullState.CANCELLED)
    hub.slow = 0.0
    assert downloads.start(wanted()) == key
    wait_until(lambda: state(downloads, key) is PullState.DONE)
    assert "Range" in hub.transfers()[-1].headers
    assert len(downloads.views()) == 1


def test_a_failed_download_can_be_resumed(hub: Hub, tiny: Repository, downloads: Downloads) -> None:
    hub.misbehave(*[Fault(Wrong.CUT, 100)] * 10)
    key = downloads.start(wanted())
    wait_until(lambda: state(downloads, key) is PullState.FAILED)
    assert "run this again" in downloads.view(key).progress.error
    hub.misbehave()
    downloads.resume(key)
    wait_until(lambda: state(downloads, key) is PullState.DONE)


def test_an_unfinished_download_is_listed_and_continues_in_the_next_run(
    hub: Hub, downloads: Downloads, isolated_machine: Path
) -> None:
    hub.repositories = {"a/big-GGUF": tiny_repository(1), "a/small-GGUF": tiny_repository(2)}
    both = Wanted("the pair", *(client().files(name).choose() for name in hub.repositories))
    hub.slow = 0.02
    key = downloads.start(both)
    wait_until(lambda: begun(downloads, key))
    assert [view.name for view in downloads.close()] == ["the pair"]
    assert not [*isolated_machine.rglob(MODEL)]
    hub.slow = 0.0
    again = Downloads(IMPATIENT)
    (left,) = again.views()
    assert left.name == "the pair"
    assert left.resumable
    assert 0 < left.percent < 100
    assert left.progress.done == sum(bytes_here(file, hub_environment()) for file in both.files)
    begun_files = [file for file in both.files if bytes_here(file, hub_environment())]
    again.resume(left.id)
    wait_until(lambda: state(again, left.id) is PullState.DONE)
    resumed = [asked for asked in hub.transfers() if "Range" in asked.headers]
    assert len(resumed) == len(begun_files)
    arrived = again.arrived(left.id)
    assert arrived is not None
    assert arrived.target is not None
    assert arrived.draft is not None
    assert again.close() == []
    assert Downloads(IMPATIENT).views() == []
    assert not unfinished_file().exists()


def test_a_download_whose_part_is_gone_is_not_listed(
    hub: Hub, tiny: Repository, downloads: Downloads, hugging_face_home: Path
) -> None:
    hub.slow = 0.02
    key = downloads.start(wanted())
    wait_until(lambda: begun(downloads, key))
    downloads.close()
    assert unfinished() == [wanted()]
    (part,) = hugging_face_home.rglob("*.part")
    part.unlink()
    assert unfinished() == []
    assert Downloads(IMPATIENT).views() == []


@pytest.mark.parametrize(
    "text", ["", "[", "{}", "[7]", '[{"name": "x", "target": {"files": [{}]}}]', '[{"name": "x"}]']
)
def test_a_damaged_list_is_ignored(isolated_machine: Path, text: str) -> None:
    unfinished_file().parent.mkdir(parents=True)
    unfinished_file().write_text(text)
    assert unfinished() == []


def test_a_stored_path_that_leads_out_of_the_cache_is_ignored(hub: Hub, tiny: Repository) -> None:
    remember(wanted())
    unfinished_file().write_text(unfinished_file().read_text().replace(MODEL, "../../x.gguf"))
    assert unfinished() == []


def test_only_a_download_that_has_ended_can_be_forgotten(hub: Hub, tiny: Repository, downloads: Downloads) -> None:
    hub.slow = 0.02
    key = downloads.start(wanted())
    downloads.forget(key)
    assert len(downloads.views()) == 1
    downloads.cancel(key)
    wait_until(lambda: not downloads.view(key).active)
    downloads.forget(key)
    assert downloads.views() == []
    assert Downloads(IMPATIENT).views() == []
