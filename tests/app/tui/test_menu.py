from pathlib import Path

import pytest

from specchat.chat.commands.reading import Sources
from specchat.tui.widgets.offers import Menu, menu_at


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name in ("notes.txt", "notes.txt.old"):
        (tmp_path / name).touch()
    return Sources(folder=tmp_path, sessions=lambda: (("A talk", ""),), themes=lambda: (("nord", ""), ("nord-2", "")))


def menu(text: str, sources: Sources) -> Menu:
    found = menu_at(text, len(text), sources)
    assert found is not None
    return found


@pytest.mark.parametrize("text", ["/s", "/", "/spec o", "/theme no", "@not", "/replay not", "/set top"])
def test_enter_takes_what_is_offered_for_what_is_not_complete(text: str, sources: Sources) -> None:
    assert menu(text, sources).takes_enter


@pytest.mark.parametrize("text", ["/model", "/theme nord", "/spec ", "@notes.txt", "/sessions tal", "see @notes.txt"])
def test_enter_belongs_to_what_is_complete_or_may_be_anything(text: str, sources: Sources) -> None:
    assert not menu(text, sources).takes_enter
    assert menu(text, sources).turned(1).takes_enter, "but not where the user chose"


@pytest.mark.parametrize("text", ["/why", "/k", "/spec auto", "@notes.txt.old", "Hi"])
def test_what_would_change_nothing_is_not_offered(text: str, sources: Sources) -> None:
    assert menu_at(text, len(text), sources) is None


def test_the_choice_goes_round(sources: Sources) -> None:
    offered = menu("/spec ", sources)
    assert offered.turned(-1).completion.text == "auto"
    assert offered.turned(3).completion.text == "on"
    assert offered.at(1).completion.text == "off"
