from __future__ import annotations

from pathlib import Path

import pytest

from app.tui.prompting import Prompting, prompting, sources_in
from specchat.chat.commands.registry import commands
from specchat.chat.controller import Sources
from specchat.chat.history import HistoryEntry, PromptHistory
from specchat.tui.widgets.offers import Menu, menu_at

COMMANDS = [*commands().values()]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    (work / "src").mkdir(parents=True)
    for name in ("notes.txt", "src/app.py", "src/my module.py"):
        (work / name).write_text(f"in {name}")
    return work


def history(*texts: str) -> PromptHistory:
    sent = PromptHistory()
    for text in texts:
        sent.add(HistoryEntry(text))
    return sent


def chosen(at: Prompting) -> str:
    return next((row.removeprefix("› ").split("  ")[0] for row in at.offered if row.startswith("› ")), "")


async def test_a_slash_opens_the_commands_above_the_prompt_until_the_cursor_leaves(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        assert at.offered == []
        await at.press("/")
        assert len(at.offered) == 8
        assert at.offered[0].startswith("› /help")
        assert COMMANDS[0].help in at.offered[0]
        region = at.popup.region
        assert region.bottom == at.prompt.region.y
        assert at.prompt.has_focus
        await at.press("backspace")
        assert at.offered == []
        await at.press(*"a @no")
        assert at.offered
        await at.press("home")
        assert at.offered == [], "away from the word"
        await at.press("end")
        assert at.offered
        at.host.query_one("#elsewhere").focus()
        await at.pilot.pause()
        assert at.offered == [], "away from the prompt"


async def test_the_arrows_choose_and_tab_or_a_click_takes(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        await at.press("/", "s", "down", "down", "up", "tab")
        assert at.text == "/spec "
        assert [row.strip("› ") for row in at.offered] == ["on", "off", "auto"]
        await at.press("down", "enter")
        assert at.text == "/spec off"
        assert at.host.commands == []
        await at.press("enter")
        assert at.host.commands == [("spec", "off")]
        await at.press(*"/spec ")
        await at.pilot.click(at.popup, offset=(4, 2))
        await at.pilot.pause()
        assert at.text == "/spec off"
        assert at.prompt.has_focus


async def test_the_choice_wraps_around_and_scrolls(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        await at.press("/", "up")
        assert chosen(at) == f"/{COMMANDS[-1].name}"
        await at.press("down")
        assert chosen(at) == f"/{COMMANDS[0].name}"
        await at.press(*["down"] * 12)
        assert chosen(at) == f"/{COMMANDS[12].name}"


async def test_enter_completes_half_a_word_and_sends_a_whole_one(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        await at.press(*"/wh", "enter")
        assert at.text == "/why"
        assert at.offered == []
        await at.press("enter")
        await at.press(*"/model", "enter")
        assert at.host.commands == [("why", None), ("model", "")]
        await at.press(*"/theme nord", "enter")
        await at.press(*"/sessions th", "enter")
        assert at.host.commands[2:] == [("theme", "nord"), ("sessions", "th")]


async def test_escape_closes_until_another_word_begins(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        await at.press(*"@no", "escape")
        assert at.offered == []
        await at.press("t")
        assert at.offered == []
        await at.press("space", "@")
        assert at.offered != []
        await at.press("escape", "enter")
        assert at.sent == ["@not @"]


async def test_fast_keys_choose_from_an_up_to_date_list(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        await at.hurry(*"/sp", "tab", *"o", "down", "enter", "enter", *"next")
        assert at.host.commands == [("spec", "off")]
        assert at.text == "next"


async def test_files_are_completed_folder_by_folder(folder: Path) -> None:
    async with prompting(sources_in(folder)) as at:
        await at.press(*"see @s", "tab")
        assert at.text == "see @src/"
        assert chosen(at) == "@src/app.py"
        await at.press("down", "tab")
        assert at.text == 'see @"src/my module.py" '
        assert at.offered == []
        await at.press("x", "enter")
        assert at.sent[0].startswith(
            'see @"src/my module.py" x\n\nsrc/my module.py:\n\n```py\nin src/my module.py\n```'
        )
        await at.press("a", "ctrl+j", *"/s @no and", *["left"] * 4, "tab")
        assert at.text == "a\n/s @notes.txt and", "in the middle and on a later line"
        await at.press("!")
        assert at.text == "a\n/s @notes.txt! and"


async def test_it_stays_above_a_growing_prompt_and_inside_a_small_screen(folder: Path) -> None:
    (folder / ("very-" * 20 + "long.txt")).touch()
    async with prompting(sources_in(folder), size=(40, 10)) as at:
        await at.press("a", "ctrl+j", "b", "ctrl+j", "@")
        await at.pilot.pause()
        assert at.popup.region.bottom == at.prompt.region.y
        assert at.popup.region.right <= 40
        assert at.popup.region.y >= 0
        await at.press(*"very")
        assert at.offered[0].startswith("› @very-very")


async def test_control_r_searches_sent_messages_newest_first() -> None:
    async with prompting(history=history("list files", "Why?", "list models", "bye")) as at:
        await at.press("d", "ctrl+r")
        assert "history" in str(at.popup.border_title)
        assert at.text == "d"
        await at.press(*"li")
        assert at.text == "list models"
        assert at.offered == ["› list models", "  list files"]
        await at.press("ctrl+r")
        assert at.text == "list files"
        await at.press("ctrl+r")
        assert at.text == "list files"
        await at.press("enter")
        assert at.offered == []
        assert at.sent == []
        await at.press("enter")
        assert at.sent == ["list files"]


async def test_escape_restores_the_unsent_text() -> None:
    async with prompting(history=history("one", "two")) as at:
        await at.paste("x\n" * 30)
        await at.press("ctrl+r", *"on")
        assert at.text == "one"
        await at.press("escape", "enter")
        assert at.sent == ["x\n" * 30]


async def test_a_search_narrows_widens_and_matches_case_only_if_capitals_are_typed() -> None:
    async with prompting(history=history("Why so?", "why not?")) as at:
        await at.press("ctrl+r", "w")
        assert at.text == "why not?"
        await at.press("backspace", "W")
        assert at.text == "Why so?"
        await at.press("x")
        assert at.text == ""
        assert at.offered == ["  no match in the history"]
        await at.press("backspace")
        assert at.text == "Why so?"


async def test_another_key_takes_the_match_and_does_its_own_work_however_fast() -> None:
    async with prompting(history=history("one", "only")) as at:
        await at.hurry("ctrl+r", *"on", "ctrl+r", "home", "x")
        assert at.text == "xone"
        assert at.offered == []
        at.prompt.write("")
        await at.hurry("ctrl+r", *"on", "ctrl+r", "enter", "enter", *"next")
        assert at.sent == ["one"]
        assert at.text == "next"


async def test_a_sent_paste_is_found_by_the_text_around_it_and_sent_again() -> None:
    async with prompting() as at:
        await at.press(*"sum up ")
        await at.paste("x\n" * 30)
        await at.press("enter", "a", "enter", "ctrl+r", *"sum", "enter", "enter")
        assert at.sent == ["sum up " + "x\n" * 30, "a", "sum up " + "x\n" * 30]


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for name in ("notes.txt", "notes.txt.old"):
        (tmp_path / name).touch()
    return Sources(folder=tmp_path, models=lambda: (("A talk", ""),), themes=lambda: (("nord", ""), ("nord-2", "")))


def menu(text: str, sources: Sources) -> Menu:
    found = menu_at(text, len(text), sources)
    assert found is not None
    return found


@pytest.mark.parametrize("text", ["/s", "/", "/spec o", "/theme no", "@not", "/replay not", "/set top"])
def test_enter_completes_an_incomplete_word(text: str, sources: Sources) -> None:
    assert menu(text, sources).takes_enter


@pytest.mark.parametrize("text", ["/model", "/theme nord", "/spec ", "@notes.txt", "/model tal", "see @notes.txt"])
def test_enter_does_not_change_a_complete_or_free_word(text: str, sources: Sources) -> None:
    assert not menu(text, sources).takes_enter
    assert menu(text, sources).turned(1).takes_enter, "but not where the user chose"


@pytest.mark.parametrize("text", ["/why", "/k", "/spec auto", "@notes.txt.old", "Hi"])
def test_a_completion_that_changes_nothing_is_not_offered(text: str, sources: Sources) -> None:
    assert menu_at(text, len(text), sources) is None
