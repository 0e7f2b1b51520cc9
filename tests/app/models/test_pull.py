"""Several files at once, pauses, cancels, full disks, other programs."""

from __future__ import annotations

import signal
import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from huggingface_hub import try_to_load_from_cache
from huggingface_hub.utils import WeakFileLock
from hypothesis import given
from hypothesis import strategies as st

from specchat.errors import FetchError
from specchat.models.cache import place_of
from specchat.models.control import Stopped
from specchat.models.environment import hub_environment
from specchat.models.pull import Pull, PullState, RateMeter
from support.hub_samples import IMPATIENT, MODEL, REPOSITORY, listed, pulled, tiny_repository, wait_until_still
from support.hub_server import Hub, Repository
from support.processes import wait_until


def wait_until_interrupted(pull: Pull) -> None:
    """Waits for the end, but gets SIGINT in a moment."""
    main = threading.main_thread().ident
    threading.Timer(0.1, lambda: signal.pthread_kill(main or 0, signal.SIGINT)).start()
    pull.wait(600)


def test_the_parts_of_a_model_are_downloaded_together(hub: Hub, tiny: Repository) -> None:
    for number in range(1, 4):
        content = tiny_repository(seed=number + 10).files[MODEL]
        tiny.files[f"big-Q8_0-{number:05}-of-00003.gguf"] = content
    files = listed(wanted="Q8_0")
    pull = pulled(files)
    assert [path.name for path in pull.result()] == [file.path for file in files]
    assert len({path.parent for path in pull.result()}) == 1
    assert pull.progress().done == sum(file.size for file in files)


def test_two_files_with_the_same_bytes_are_downloaded_once(hub: Hub, tiny: Repository) -> None:
    tiny.files["same-Q4_0.gguf"] = tiny.files[MODEL]
    hub.slow = 0.02
    pull = Pull((*listed(wanted="F16"), *listed(wanted="Q4_0")), IMPATIENT)
    pull.start()
    wait_until(lambda: pull.progress().done > 0)
    hub.slow = 0
    assert pull.wait(600)
    one, two = pull.result()
    assert one.name != two.name
    assert one.read_bytes() == two.read_bytes() == tiny.files[MODEL]
    assert len(hub.transfers()) == 1


def test_free_space_is_checked_before_the_download(hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    [file] = listed()
    free = 64 * 2**20 + file.size - 30_000
    monkeypatch.setattr("specchat.models.pull.shutil.disk_usage", lambda _: type("Usage", (), {"free": free})())
    with pytest.raises(FetchError, match=r"are to be downloaded, and .* are free"):
        Pull((file,), IMPATIENT).start()
    assert hub.transfers() == []
    place = place_of(file, hub_environment())
    place.part.parent.mkdir(parents=True)
    place.part.write_bytes(tiny.files[MODEL][:30_000])
    assert pulled((file,)).result()


def test_two_programs_do_not_download_the_same_file(hub: Hub, tiny: Repository) -> None:
    files = listed()
    lock = place_of(files[0], hub_environment()).lock
    lock.parent.mkdir(parents=True)
    with (
        WeakFileLock(lock),
        pytest.raises(FetchError, match="is being downloaded by another program"),
    ):
        pulled(files).result()
    assert pulled(files).result()


def test_a_pause_closes_the_connection_and_resume_continues(hub: Hub, tiny: Repository) -> None:
    files = listed()
    hub.slow = 0.02
    pull = Pull(files, IMPATIENT)
    pull.start()
    wait_until(lambda: pull.progress().done > 0)
    pull.pause()
    assert pull.progress().state is PullState.PAUSED
    wait_until_still(lambda: pull.progress().done)
    hub.slow = 0
    pull.resume()
    assert pull.wait(600)
    assert pull.result()[0].read_bytes() == tiny.files[MODEL]
    assert hub.transfers()[-1].headers["Range"].startswith("bytes=")


@pytest.mark.parametrize("paused", [False, True])
def test_a_cancel_keeps_what_arrived(hub: Hub, tiny: Repository, paused: bool) -> None:
    files = listed()
    hub.slow = 0.02
    pull = Pull(files, IMPATIENT)
    pull.start()
    wait_until(lambda: pull.progress().done > 0)
    if paused:
        pull.pause()
    pull.cancel()
    assert pull.wait(600)
    assert pull.progress().state is PullState.CANCELLED
    with pytest.raises(Stopped):
        pull.result()
    assert place_of(files[0], hub_environment()).part.stat().st_size > 0
    hub.slow = 0
    assert pulled(files).result()


def test_wait_can_be_called_again_after_ctrl_c(hub: Hub, tiny: Repository) -> None:
    hub.slow = 0.02
    pull = Pull(listed(), IMPATIENT)
    pull.start()
    with pytest.raises(KeyboardInterrupt):
        wait_until_interrupted(pull)
    assert pull.progress().state is PullState.RUNNING
    assert not pull.wait(0)
    pull.cancel()
    assert pull.wait(600)
    assert pull.progress().state is PullState.CANCELLED


def test_without_symlinks_the_file_itself_is_in_the_snapshot(
    hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_DISABLE_SYMLINKS", "1")
    [path] = pulled(listed()).result()
    assert not path.is_symlink()
    assert path.read_bytes() == tiny.files[MODEL]
    assert try_to_load_from_cache(REPOSITORY, MODEL, cache_dir=hub_environment().cache) == str(path)


def test_a_cache_that_cannot_be_written_is_an_error(
    hub: Hub, tiny: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("a file where the folder should be")
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "file" / "hub"))
    with pytest.raises(FetchError, match="cannot be written: Not a directory"):
        pulled(listed()).result()


def test_a_truncated_blob_is_replaced(hub: Hub, tiny: Repository) -> None:
    [file] = listed()
    place = place_of(file, hub_environment())
    place.blob.parent.mkdir(parents=True)
    place.blob.write_bytes(tiny.files[MODEL][:1_000])
    assert pulled((file,)).result()[0].read_bytes() == tiny.files[MODEL]


def test_an_existing_blob_is_linked_and_its_part_is_removed(hub: Hub, tiny: Repository) -> None:
    [file] = listed()
    place = place_of(file, hub_environment())
    place.blob.parent.mkdir(parents=True)
    place.blob.write_bytes(tiny.files[MODEL])
    place.part.write_bytes(tiny.files[MODEL][:1_000])
    assert pulled((file,)).result()[0].read_bytes() == tiny.files[MODEL]
    assert hub.transfers() == []
    assert not place.part.exists()


def test_an_unexpected_failure_of_a_thread_is_reported(
    hub: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = listed()
    monkeypatch.setattr("specchat.models.fetch.read_header", lambda *_: 1 // 0)
    with pytest.raises(FetchError, match="an unexpected ZeroDivisionError"):
        pulled(files).result()


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.mark.parametrize(
    ("counts", "stalled", "rate"),
    [
        (range(0, 20_000, 1000), 0, 1000),
        ([10**9], 0, 0),
        ([0, 5000, 0, 100], 0, 50),
        ([0, 6000], 58, 100),
    ],
    ids=["steady", "bytes from before the start", "a new start", "a stall"],
)
def test_the_rate_is_that_of_the_bytes_since_the_last_start(counts: Sequence[int], stalled: int, rate: float) -> None:
    clock = Clock()
    meter = RateMeter(clock)
    assert meter.rate is None
    for done in counts:
        meter.update(done)
        clock.now += 1
    clock.now += stalled
    assert meter.rate == pytest.approx(rate, rel=0.2)
    assert meter.left(5000) == (pytest.approx(5000 / rate, rel=0.25) if rate else None)


@given(steps=st.lists(st.tuples(st.floats(0, 10), st.integers(0, 10**9)), max_size=60))
def test_a_rate_lies_between_the_slowest_and_the_fastest(
    steps: list[tuple[float, int]],
) -> None:
    clock, done = Clock(), 0
    meter = RateMeter(clock)
    for seconds, more in steps:
        clock.now += seconds
        done += more
        meter.update(done)
        rate = meter.rate
        assert rate is None or 0 <= rate <= done / 0.5
