"""The list of stored sessions, while another application writes into the same file."""

import time

import pytest
from textual.widgets import OptionList

from app.tui.chatting import Chat, ask, chat
from app.tui.scripted_client import ScriptedClient
from specchat.settings.paths import sessions_db
from specchat.store.records import StoredMessage, StoredSession, new_id
from specchat.store.store import Store
from specchat.tui.screens import sessions
from specchat.tui.screens.sessions import SessionsScreen


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "_LOOK_AGAIN", 0.05)


def begun(store: Store, title: str) -> None:
    session = StoredSession(new_id(), title=title, updated=time.time())
    store.create(session)
    store.add_message(StoredMessage(new_id(), session.id, None, "user", f"the first words of {title}"))


def rows(pilot: Chat) -> list[str]:
    return [str(option.prompt).split("  ")[0] for option in pilot.app.screen.query_one(OptionList).options]


def told(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one("#panel").border_subtitle)


async def until(pilot: Chat, expected: list[str]) -> None:
    for _ in range(100):
        await pilot.pause(0.05)
        if rows(pilot) == expected:
            return
    assert rows(pilot) == expected


async def test_what_another_application_writes_is_in_the_list_and_the_choice_stays() -> None:
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
        assert told(pilot) == "3, changed by another specchat"


async def test_a_search_is_done_again_and_a_title_that_is_being_written_is_left_alone() -> None:
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


async def test_what_the_application_writes_itself_is_not_anothers() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("ctrl+o")
        await until(pilot, ["Who?"])
        screen = pilot.app.screen
        assert isinstance(screen, SessionsScreen)
        await pilot.press("f2", "!", "enter")
        await until(pilot, ["Who?!"])
        await pilot.pause(0.3)
        assert told(pilot) == "1"
