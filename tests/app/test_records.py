"""What was learned of a pair is found again at the next start, and nothing but that is lost where it cannot be."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from specchat import records
from specchat_engine.control.controller import Controller

if TYPE_CHECKING:
    from specchat_engine import Engine


@dataclass
class Pair:
    """As much of an engine as is asked for."""

    identity: str = "one pair"
    controller: Controller = field(default_factory=Controller)


def as_engine(pair: Pair) -> Engine:
    return cast("Engine", pair)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(records, "cache_folder", lambda: tmp_path / "cache")
    return tmp_path / "cache"


def test_a_second_start_knows_what_the_first_learned(folder: Path) -> None:
    first, second, other = Pair(), Pair(), Pair("another pair")
    first.controller.target.observe(1, 0, 2.5)
    records.keep(as_engine(first))
    assert records.recall(as_engine(second))
    assert second.controller.target.at(1, 0) == pytest.approx(2.5)
    assert not records.recall(as_engine(other))


@pytest.mark.parametrize("text", ["", "{", "[]", '{"target": {"0": {"1": -3}}, "draft": {}, "habits": {}}'])
def test_a_damaged_record_is_left_alone(folder: Path, text: str) -> None:
    records.keep(as_engine(Pair()))
    for path in (folder / "pairs").iterdir():
        path.write_text(text)
    pair = Pair()
    before = pair.controller
    assert not records.recall(as_engine(pair))
    assert pair.controller is before


def test_a_folder_that_cannot_be_written_is_no_error(folder: Path) -> None:
    folder.write_text("a file where the folder should be")
    records.keep(as_engine(Pair()))
    assert not records.recall(as_engine(Pair()))
