"""A pull whose process is killed, so that no handler can save anything."""

from __future__ import annotations

from specchat.models.cache import partials, place_of
from specchat.models.environment import HubEnvironment, hub_environment
from specchat.models.model_files import HubFile
from support.hub_samples import listed, pulled
from support.hub_server import Hub, Repository
from support.processes import pulling, wait_until


def killed_after(file: HubFile, size: int) -> int:
    """Starts a pull in another process, kills it after this many bytes, and returns how many are there."""
    part = place_of(file, hub_environment()).part
    with pulling() as child:
        wait_until(lambda: part.exists() and part.stat().st_size > size, child)
    return part.stat().st_size


def test_a_pull_that_was_killed_twice_is_completed_by_the_third(
    hub: Hub, tiny: Repository, environment: HubEnvironment
) -> None:
    [file] = listed()
    place = place_of(file, environment)
    hub.slow = 0.05
    first = killed_after(file, 20_000)
    second = killed_after(file, first)
    assert first < second < file.size
    assert not place.snapshot.exists()
    [left] = partials(place.blob.parents[1])
    assert (left.file, left.have) == (file, second)
    hub.slow = 0
    [path] = pulled((file,)).result()
    assert path.read_bytes() == next(iter(tiny.files.values()))
    ranges = [asked.headers.get("Range", "") for asked in hub.transfers()]
    assert ranges == ["", f"bytes={first}-", f"bytes={second}-"]
