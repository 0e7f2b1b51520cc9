"""The text files of a dataset, from a local hub."""

from __future__ import annotations

import pytest

from specchat.errors import HubError
from specchat.models.datasets import dataset_files
from support.hub_server import Hub, Repository


def test_text_files_are_downloaded_and_others_are_not(hub: Hub) -> None:
    files = {"data/train.jsonl": b'{"text": "one"}', "more.txt": b"two", "README.md": b"# about", "x.parquet": b"PAR1"}
    hub.repositories["datasets/ann/talks"] = Repository(files)
    found = dataset_files("ann/talks")
    assert [path.name for path in found] == ["train.jsonl", "more.txt"]
    assert [path.read_bytes() for path in found] == [b'{"text": "one"}', b"two"]


def test_a_dataset_without_text_files_is_one_line(hub: Hub) -> None:
    hub.repositories["datasets/ann/tables"] = Repository({"x.parquet": b"PAR1", "README.md": b"# about"})
    with pytest.raises(HubError, match=r"the dataset ann/tables has no \.jsonl, .* it has \.md, \.parquet: convert it"):
        dataset_files("ann/tables")


@pytest.mark.parametrize("name", ["ann/nothing", "no such name", "../../etc"])
def test_a_dataset_that_is_not_there_is_one_line(hub: Hub, name: str) -> None:
    with pytest.raises(HubError, match=f"dataset {name}") as caught:
        dataset_files(name)
    assert "\n" not in str(caught.value)
