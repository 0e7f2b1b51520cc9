"""What /model and /draft can name."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat.chat.commands.completion import complete
from specchat.chat.controller import Sources
from specchat.chat.library_names import LibraryNames
from specchat.errors import LibraryError
from specchat.models.library import HeaderSummary, LibraryModel
from specchat.models.sources import Found, ModelSource


def entry(name: str, *aliases: str, problem: str = "") -> LibraryModel:
    found = Found(name, ModelSource.HUB, (Path(f"/models/{name}.gguf"),), 2_500_000_000, "Q4_K_M", problem)
    return LibraryModel(found, HeaderSummary(parameters=4_000_000_000), aliases)


def test_aliases_come_first_and_unusable_models_are_left_out() -> None:
    names = LibraryNames(
        lambda: [entry("a/b:Q4"), entry("broken", "bad", problem="cut short"), entry("c", "big", "mid")]
    )
    names.refresh()
    names.wait()
    assert names() == [
        ("big", "c · 4B · Q4_K_M · 2.5 GB"),
        ("mid", "c · 4B · Q4_K_M · 2.5 GB"),
        ("a/b:Q4", "4B · Q4_K_M · 2.5 GB"),
        ("c", "4B · Q4_K_M · 2.5 GB"),
    ]
    assert names.path_of("mid") == names.path_of("c") == Path("/models/c.gguf")
    assert names.path_of("broken") is None


def test_names_complete_the_commands_model_and_draft() -> None:
    names = LibraryNames(lambda: [entry("a/b:Q4"), entry("c", "big")])
    names.refresh()
    names.wait()
    sources = Sources(models=names)
    for command in ("/model ", "/draft "):
        assert [one.applied(f"{command}bi")[0] for one in complete(f"{command}bi", 9, sources)] == [f"{command}big"]
    assert [one.text for one in complete("/model ", 7, sources)] == ["big", "a/b:Q4", "c"]
    assert {one.text for one in complete("/draft ", 7, sources)} == {"big", "a/b:Q4", "c", "none"}


def test_an_unreadable_library_leaves_the_last_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.chat.library_names._FRESH", -1.0)
    answers = iter([[entry("c")]])

    def read() -> list[LibraryModel]:
        try:
            return next(answers)
        except StopIteration:
            raise LibraryError("models.json is not what specchat wrote") from None

    names = LibraryNames(read)
    for _ in range(2):
        names.refresh()
        names.wait()
    assert [name for name, _ in names()] == ["c"]
    names.wait()
