"""The help: its first page, its search, and the sections of the documentation."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.widgets import Input, Static

from app.tui.chatting import Chat, ask, chat, command, quiet, seen, text_at
from app.tui.scripted_client import ScriptedClient, chat_options, script
from specchat.manual.sections import SectionAddress
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.help import HelpScreen
from specchat.tui.widgets.listing import Listing
from specchat_assets import TARGET_NAME

SMALL = (80, 24)


async def search(pilot: Chat, words: str) -> None:
    await pilot.press(*words)
    await pilot.pause(0.4)


def results(pilot: Chat) -> list[SectionAddress]:
    return [hit.section.place for hit in pilot.app.screen.query_one("#results", Listing).items]


def section(pilot: Chat) -> str:
    return " ".join(str(pilot.app.screen.query_one("#section Static", Static).render()).split())


def title(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one("#panel").border_title)


@pytest.mark.parametrize(("size", "stacked"), [(SMALL, False), ((40, 15), True)])
async def test_what_a_key_does_is_beside_it_or_below_it_where_that_is_too_narrow(
    size: tuple[int, int], stacked: bool
) -> None:
    async with chat(ScriptedClient(), size) as pilot:
        await pilot.press("f1")
        await pilot.pause()
        key, does = (pilot.app.screen.query(f".keys .{kind}").first(Static) for kind in ("name", "text"))
        assert (does.region.y > key.region.y) is stacked
        assert all(cell.region.width > 20 for cell in pilot.app.screen.query(".text"))


async def test_a_search_finds_commands_keys_and_documentation_and_opens_a_section() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await pilot.press("f1")
        await search(pilot, "theme")
        found = results(pilot)
        assert SectionAddress("Commands", "/theme [NAME]") in found
        assert SectionAddress("app.md", "Keys and themes") in found
        assert {place.page for place in found} >= {"Keys"}
        for _ in range(found.index(SectionAddress("app.md", "Keys and themes"))):
            await pilot.press("down")
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert 'theme = "specchat-light"' in section(pilot)
        assert title(pilot) == "specchat help · The terminal app › Keys and themes"


async def test_esc_goes_back_from_a_section_to_the_results_and_then_closes() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await pilot.press("f1")
        await search(pilot, "theme")
        await pilot.press("enter", "escape")
        await pilot.pause()
        assert pilot.app.screen.query_one("#results").display
        assert pilot.app.screen.query_one(Input).value == "theme"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_arrows_and_digits_go_on_from_a_section() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        pilot.app.push_screen(HelpScreen(place=SectionAddress("figures.md", "Tokens")))
        await pilot.pause(0.2)
        assert "See also: 1 Losslessness" in section(pilot)
        await pilot.press("1")
        await pilot.pause(0.1)
        assert title(pilot).startswith("specchat help · Losslessness")
        assert title(pilot).endswith("› The rules")
        await pilot.press("right")
        await pilot.pause(0.1)
        assert title(pilot).endswith("› A rule for thoughts alone")
        await pilot.press("left", "left", "left")
        await pilot.pause(0.1)
        assert title(pilot).endswith("› The rules")
        await pilot.press("slash", "k")
        await pilot.pause(0.4)
        assert pilot.app.screen.query_one(Input).value == "k"
        assert pilot.app.screen.query_one("#results").display


async def test_digits_are_written_while_no_section_is_open() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await pilot.press("f1")
        await search(pilot, "k 2")
        assert pilot.app.screen.query_one(Input).value == "k 2"


async def test_what_nothing_matches_is_said_and_an_emptied_search_shows_the_first_page() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await pilot.press("f1")
        await search(pilot, "xyzzyplugh")
        assert text_at(pilot, "nothing") == "nothing in the help has “xyzzyplugh”"
        await pilot.press(*["backspace"] * 10)
        await pilot.pause(0.3)
        assert pilot.app.screen.query_one("#page").display
        assert not pilot.app.screen.query_one("#nothing").display


async def test_help_with_words_searches_for_them() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await command(pilot, "/help import chatgpt")
        await pilot.pause(0.3)
        assert SectionAddress("sessions.md", "Import") in results(pilot)


@asynccontextmanager
async def guide(answer: str, target: str = TARGET_NAME) -> AsyncIterator[Chat]:
    """A chat with the built-in guide, or another model, that was asked about the GPU and gave this answer."""
    app = SpecchatApp(chat_options(target=Path(target)), ScriptedClient(script(answer)))
    async with app.run_test(size=SMALL) as pilot:
        await quiet(pilot)
        await ask(pilot, "Which GPU do you want?")
        yield pilot


async def test_f1_searches_the_docs_where_the_guide_does_not_know() -> None:
    async with guide("> I do not know that.") as pilot:
        assert any("F1 searches the docs for “GPU”" in row for row in seen(pilot))
        await pilot.press("f1")
        await pilot.pause(0.3)
        assert pilot.app.screen.query_one(Input).value == "GPU"
        assert results(pilot)[0].page == "install.md"


async def test_the_next_answer_ends_the_offer() -> None:
    async with guide("> I do not know that.") as pilot:
        client = pilot.app.client  # type: ignore[attr-defined]
        client.rounds = script("> Hello.")
        await ask(pilot, "Hi")
        await pilot.press("f1")
        await pilot.pause(0.3)
        assert pilot.app.screen.query_one(Input).value == ""


@pytest.mark.parametrize(
    ("answer", "target"), [("> I know that.", TARGET_NAME), ("> I do not know that.", "qwen.gguf")]
)
async def test_other_answers_and_other_models_offer_no_search(answer: str, target: str) -> None:
    async with guide(answer, target) as pilot:
        assert not any("searches the docs" in row for row in seen(pilot))
