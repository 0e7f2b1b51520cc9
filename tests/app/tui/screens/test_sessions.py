"""The list of stored sessions, also while another application writes to the same file."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.events import Key
from textual.widgets import OptionList

from app.tui.chatting import Chat, ask, chat, command, quiet, shown
from app.tui.scripted_client import ScriptedClient
from specchat.settings.paths import sessions_db
from specchat.store.records import StoredMessage, StoredSession, new_id
from specchat.store.search import SearchHit
from specchat.store.store import Store
from specchat.terminal.pieces import MARKS
from specchat.tui.screens import sessions
from specchat.tui.screens.sessions import SessionRow, SessionsScreen, when


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_LOOK_AGAIN", 0.05)


def begun(store: Store, title: str) -> None:
    session = StoredSession(new_id(), title=title, updated=time.time())
    store.create(session)
    store.add_message(StoredMessage(new_id(), session.id, None, "user", f"the first words of {title}"))


def rows(pilot: Chat) -> list[str]:
    return [str(option.prompt).split("  ")[0] for option in pilot.app.screen.query_one(OptionList).options]


def subtitle(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one("#panel").border_subtitle)


async def until(pilot: Chat, expected: list[str]) -> None:
    for _ in range(3600):
        await pilot.pause(0.05)
        if rows(pilot) == expected:
            return
    assert rows(pilot) == expected


async def test_changes_by_another_application_appear_and_the_choice_stays() -> None:
    async with chat(ScriptedClient()) as pilot:
        with Store.open(sessions_db()) as other:
            begun(other, "one")
            begun(other, "two")
            await pilot.press("ctrl+o")
            await until(pilot, ["two", "one"])
            await pilot.press("down")
            begun(other, "three")
            await until(pilot, ["three", "two", "one"])
        assert pilot.app.screen.query_one(OptionList).highlighted == 2
        assert subtitle(pilot) == "3, changed by another specchat"


async def test_changes_appear_although_each_look_takes_longer_than_the_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    changed_elsewhere = Store.changed_elsewhere

    def slowly(store: Store) -> bool:
        changed = changed_elsewhere(store)
        time.sleep(0.2)
        return changed

    monkeypatch.setattr(Store, "changed_elsewhere", slowly)
    async with chat(ScriptedClient()) as pilot:
        with Store.open(sessions_db()) as other:
            begun(other, "one")
            await pilot.press("ctrl+o")
            await until(pilot, ["one"])
            begun(other, "two")
            await until(pilot, ["two", "one"])


async def test_changes_repeat_the_search_but_not_while_a_title_is_edited() -> None:
    async with chat(ScriptedClient()) as pilot:
        with Store.open(sessions_db()) as other:
            begun(other, "one")
            await pilot.press("ctrl+o", *"words")
            await until(pilot, ["one"])
            begun(other, "two")
            await until(pilot, ["two", "one"])
            await pilot.press("f2", "X")
            begun(other, "three")
            await pilot.pause(0.3)
            assert rows(pilot) == ["two", "one"]
            await pilot.press("escape")
            await until(pilot, ["three", "two", "one"])


async def test_a_change_that_was_found_as_editing_began_appears_when_it_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    changed_elsewhere, found, edited = Store.changed_elsewhere, threading.Event(), threading.Event()

    def late(store: Store) -> bool:
        changed = changed_elsewhere(store)
        if changed:
            found.set()
            assert edited.wait(600)
        return changed

    async with chat(ScriptedClient()) as pilot:
        with Store.open(sessions_db()) as other:
            begun(other, "one")
            await pilot.press("ctrl+o")
            await until(pilot, ["one"])
            monkeypatch.setattr(Store, "changed_elsewhere", late)
            begun(other, "two")
            assert await asyncio.to_thread(found.wait, 600)
            await pilot.press("f2", "X")
            edited.set()
            await pilot.pause(0.3)
            assert rows(pilot) == ["one"]
            await pilot.press("escape")
            await until(pilot, ["two", "one"])


async def test_more_is_read_near_the_end_but_not_below_what_a_search_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "PAGE", 30)
    read, searched, was_read = Store.sessions, threading.Event(), threading.Event()

    def late(store: Store, limit: int, offset: int = 0) -> list[StoredSession]:
        found = read(store, limit, offset)
        if offset == 60:
            assert searched.wait(600)
            was_read.set()
        return found

    monkeypatch.setattr(Store, "sessions", late)
    with Store.open(sessions_db()) as store:
        for number in range(80):
            begun(store, f"number{number}")
    newest = [f"number{number}" for number in reversed(range(80))]
    async with chat(ScriptedClient()) as pilot:
        await pilot.press("ctrl+o")
        await until(pilot, newest[:30])
        await pilot.press(*["down"] * 15)
        await until(pilot, newest[:60])
        await pilot.press(*["down"] * 30, *"number7")
        await until(pilot, [*newest[:10], "number7"])
        searched.set()
        assert await asyncio.to_thread(was_read.wait, 60)
        await pilot.pause(0.5)
        assert rows(pilot) == [*newest[:10], "number7"]


async def test_a_new_title_replaces_the_old_one_and_is_not_reported_as_anothers_change() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("ctrl+o")
        await until(pilot, ["Who?"])
        screen = pilot.app.screen
        assert isinstance(screen, SessionsScreen)
        await pilot.press("f2", "end", "!", "enter")
        await until(pilot, ["Who?!"])
        await pilot.pause(0.3)
        assert subtitle(pilot) == "1"
        await pilot.press("f2", *"People", "enter")
        await until(pilot, ["People"])


def burst(pilot: Chat, *keys: str) -> None:
    """Keys that arrive at once, as from a fast typist on a slow line."""
    for key in keys:
        pilot.app.post_message(Key(key, key if len(key) == 1 else "\r" if key == "enter" else None))


async def test_keys_act_in_the_order_in_which_they_were_typed() -> None:
    async with chat(ScriptedClient()) as pilot:
        with Store.open(sessions_db()) as other:
            begun(other, "one")
            begun(other, "two")
        await pilot.press("ctrl+o")
        await until(pilot, ["two", "one"])
        burst(pilot, "n", "e", "backspace", "backspace", "down", "f2", *"Once", "backspace", *"e more", "enter")
        await until(pilot, ["two", "Once more"])
        burst(pilot, *"two", "f2", *"Second", "enter")
        await until(pilot, ["Second"])
        burst(pilot, *["backspace"] * 3, *"once", "enter")
        await quiet(pilot)
        assert shown(pilot) == ["the first words of one"]


async def test_a_tag_is_shown_and_limits_the_list() -> None:
    async with chat(ScriptedClient()) as pilot:
        with Store.open(sessions_db()) as other:
            begun(other, "two")
        await command(pilot, "/tag Work")  # before anything is stored of the session
        await ask(pilot, "Who?")
        await command(pilot, "/tag draft")
        await command(pilot, "/tag forget work")
        await pilot.press("ctrl+o")
        await until(pilot, ["Who?", "two"])
        assert "#draft" in str(pilot.app.screen.query_one(OptionList).options[0].prompt)
        await pilot.press(*"#dr")
        await until(pilot, ["Who?"])
        await pilot.press("backspace", "backspace", "backspace", *"#work")
        await until(pilot, [])


NOW = datetime(2026, 3, 18, 15, 0).astimezone().timestamp()
HOUR = 3600.0


def row(
    title: str = "Speculation",
    preview: str = "It drafts ahead.",
    messages: int = 2,
    found: str = "",
    tags: tuple[str, ...] = (),
) -> SessionRow:
    session = StoredSession(new_id(), title, updated=NOW - HOUR, num_messages=messages, preview=preview, tags=tags)
    return SessionRow(session, found)


@pytest.mark.parametrize(
    ("ago", "said"), [(0.0, "15:00"), (HOUR, "14:00"), (24 * HOUR, "Tue 15:00"), (24 * 10 * HOUR, "2026-03-08")]
)
def test_a_time_is_shown_the_way_people_say_it(ago: float, said: str) -> None:
    assert when(NOW - ago, NOW) == said


def test_a_row_shows_title_tags_time_length_and_preview() -> None:
    drawn = row().draw(60, NOW).plain.split("\n")
    assert drawn[0].startswith("Speculation")
    assert drawn[0].endswith("14:00 · 2 messages")
    assert drawn[1].startswith("It drafts ahead.")
    assert row(tags=("draft", "work")).draw(80, NOW).plain.startswith("Speculation  #draft #work ")
    assert "1 message" in row(messages=1).draw(60, NOW).plain
    assert row(title="").title == "untitled"


def test_a_match_is_marked_in_place_of_the_preview() -> None:
    found = row(found=f"drafts {MARKS[0]}ahead{MARKS[1]} of it").draw(60, NOW)
    assert "drafts ahead of it" in found.plain
    assert any("bold" in str(span.style) for span in found.spans if found.plain[span.start : span.end] == "ahead")
    assert MARKS[0] not in found.plain
    session = StoredSession(new_id(), "Speculation", preview="It drafts ahead.")
    assert SessionRow.of(SearchHit(session, None, "snippet")).found == "", "a match in the title keeps the preview"


@given(st.text(max_size=80), st.text(max_size=200), st.integers(12, 120), st.lists(st.text(max_size=40), max_size=3))
def test_no_row_is_wider_than_the_list(title: str, preview: str, width: int, tags: list[str]) -> None:
    drawn = row(title, preview, tags=tuple(tags)).draw(width, NOW)
    assert len(drawn.plain.split("\n")) == 2
    for line in drawn.split("\n"):
        assert line.cell_length <= max(width, 40)
    assert "\x1b" not in drawn.plain
