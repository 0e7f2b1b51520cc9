"""Whether the hub has a file in Xet's storage."""

from __future__ import annotations

import pytest

from specchat.models.xet.source import XetSwitch, can_xet, xet_hash
from support.hub_names import xet_name_of
from support.hub_samples import MODEL, listed
from support.hub_server import Hub, Repository


def test_the_hub_tells_xets_name_of_a_file(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    assert xet_hash(file, 5.0) == xet_name_of(tiny.files[MODEL])
    assert hub.asked[-1].method == "HEAD"


def test_a_repository_that_was_renamed_is_followed_on_the_hub(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    hub.renamed[file.repository] = "tests/new-GGUF"
    hub.repositories["tests/new-GGUF"] = hub.repositories.pop(file.repository)
    assert xet_hash(file, 5.0) == xet_name_of(tiny.files[MODEL])
    hub.renamed = {"tests/new-GGUF": file.repository, file.repository: "tests/new-GGUF"}
    assert xet_hash(file, 5.0) is None


@pytest.mark.parametrize("name", ["", "abc", "../../etc", "G" * 64])
def test_what_cannot_be_a_name_is_none(
    hub: Hub, storage: Hub, tiny: Repository, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr("support.hub_server.xet_name_of", lambda _: name)
    assert xet_hash(listed()[0], 5.0) is None


def test_a_hub_that_cannot_tell_leaves_it_to_https(hub: Hub, storage: Hub, tiny: Repository) -> None:
    [file] = listed()
    tiny.gated = True
    assert xet_hash(file, 5.0) is None
    del hub.repositories[file.repository]
    assert xet_hash(file, 5.0) is None


def test_the_switch_is_turned_off_once(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = XetSwitch()
    assert can_xet()
    assert switch.on
    assert [switch.turn_off(), switch.turn_off(), switch.on] == [True, False, False]
    assert not XetSwitch(wanted=False).on
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "yes")
    assert not XetSwitch().on
