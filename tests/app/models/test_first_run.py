"""Whether someone is here for the first time."""

from __future__ import annotations

from pathlib import Path

from specchat.models.first_run import is_first_run, remember_welcome
from specchat.models.shelf import Pair, Shelf, keep_shelf, shelf_file
from specchat.settings.paths import data_folder, sessions_db
from specchat.settings.schema import Config


def test_the_first_start_is_one_and_the_next_is_not() -> None:
    assert is_first_run(Config())
    remember_welcome()
    assert not is_first_run(Config())


def test_who_has_chosen_a_model_is_not_new(tmp_path: Path) -> None:
    assert not is_first_run(Config(model=tmp_path / "a.gguf"))
    keep_shelf(Shelf(default=Pair("a", "b")))
    assert not is_first_run(Config())


def test_who_has_sessions_is_not_new() -> None:
    data_folder().mkdir(parents=True)
    sessions_db().touch()
    assert not is_first_run(Config())


def test_a_shelf_that_cannot_be_read_is_told_later_and_not_here() -> None:
    shelf_file().parent.mkdir(parents=True)
    shelf_file().write_text("damaged")
    assert not is_first_run(Config())


def test_a_data_folder_that_cannot_be_one_stops_nobody() -> None:
    data_folder().parent.mkdir(parents=True)
    data_folder().touch()
    remember_welcome()
    assert not is_first_run(Config())
