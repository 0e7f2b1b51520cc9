"""Headers of models on the hub, read from a real server."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.errors import HubError
from specchat.models.headers import remote_header
from specchat_engine.errors import HeaderError
from specchat_engine.gguf import read_model
from support.hub_faults import Fault, Wrong
from support.hub_samples import IMPATIENT, REPOSITORY, listed, retry_for
from support.hub_server import Hub, Repository
from support.tiny_models import byte_vocabulary, write_tiny_model

NAME = "large-F16.gguf"


@pytest.fixture
def large(hub: Hub, tmp_path: Path) -> Path:
    """A model with a header of several hundred kilobytes, which is also on the hub."""
    vocabulary = [*byte_vocabulary(), *(f"token{number}" for number in range(20_000))]
    path = write_tiny_model(tmp_path / NAME, vocabulary=vocabulary)
    hub.repositories[REPOSITORY] = Repository({NAME: path.read_bytes()})
    return path


def test_a_remote_header_equals_that_of_the_file(hub: Hub, large: Path) -> None:
    remote, local = remote_header(listed(), IMPATIENT), read_model(large)
    assert remote.tensors == local.tensors
    assert list(remote.tokens) == list(local.tokens)
    assert (remote.file_size, remote.chat_template, remote.n_params) == (
        large.stat().st_size,
        local.chat_template,
        local.n_params,
    )


def test_only_the_header_is_requested_in_a_few_growing_ranges(hub: Hub, large: Path) -> None:
    header = remote_header(listed(), IMPATIENT)
    ranges = [asked.headers["Range"] for asked in hub.transfers()]
    ends = [int(one.rpartition("-")[2]) + 1 for one in ranges]
    assert ends[:2] == [64 * 1024, 256 * 1024]
    assert ends[-1] <= 4 * header.data_offset < large.stat().st_size
    assert len(ranges) <= 3


@pytest.mark.parametrize(
    "fault",
    [
        Fault(Wrong.NO_RANGES),
        Fault(Wrong.CUT, 50_000, times=2),
        Fault(Wrong.STATUS, 503, times=2),
        Fault(Wrong.STALL, 9, 1),
    ],
    ids=lambda fault: str(fault.wrong),
)
def test_a_remote_header_survives_passing_faults(hub: Hub, large: Path, fault: Fault) -> None:
    hub.misbehave(fault)
    assert remote_header(listed(), retry_for(fault)).tensors == read_model(large).tensors


def test_a_server_without_ranges_cannot_send_everything(hub: Hub, large: Path) -> None:
    hub.slow = 0.005
    hub.misbehave(Fault(Wrong.NO_RANGES))
    remote_header(listed(), IMPATIENT)
    assert len(hub.transfers()) <= 3


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault(Wrong.CORRUPT, 0), "is not a GGUF file"),
        (Fault(Wrong.PORTAL), "is not a GGUF file|the server ended"),
        (Fault(Wrong.LIMIT, 600), "asks to wait 600 s"),
        (Fault(Wrong.LOOP), "redirects in circles"),
        (Fault(Wrong.OTHER_RANGE, 9), "another part"),
    ],
    ids=lambda value: str(getattr(value, "wrong", "")),
)
def test_lasting_faults_are_errors(hub: Hub, large: Path, fault: Fault, words: str) -> None:
    hub.misbehave(fault)
    with pytest.raises((HubError, HeaderError), match=words):
        remote_header(listed(), IMPATIENT)


def test_a_file_that_changes_between_two_ranges_is_not_mixed(hub: Hub, large: Path) -> None:
    hub.misbehave(Fault(Wrong.CORRUPT, 1_000_000, times=1), Fault(Wrong.CHANGE))
    with pytest.raises(HubError, match="changed while its header was read"):
        remote_header(listed(), IMPATIENT)


def test_the_tensors_of_all_parts_are_included(hub: Hub, tmp_path: Path) -> None:
    one, two = (write_tiny_model(tmp_path / f"{number}.gguf", layers=number) for number in (1, 2))
    hub.repositories[REPOSITORY] = Repository(
        {"m-F16-00001-of-00002.gguf": one.read_bytes(), "m-F16-00002-of-00002.gguf": two.read_bytes()}
    )
    header = remote_header(listed(), IMPATIENT)
    assert header.n_params == read_model(one).n_params + read_model(two).n_params
    assert header.layers == 1
