"""The help: its first page, its search, and the sections of the documentation."""

from __future__ import annotations

from textual.widgets import Input, Static

from app.tui.chatting import Chat, ask, at_rest, chat, command, press, quiet, seen, text_at
from app.tui.scripted_client import ScriptedClient, script
from specchat.manual.sections import SectionAddress
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.help import HelpScreen
from specchat.tui.widgets.listing import Listing
from specchat_assets import TARGET_NAME

SMALL = (80, 24)


async def search(pilot: Chat, words: str) -> None:
    await pilot.press(*words)
    await at_rest(pilot, 0.4)


def results(pilot: Chat) -> list[SectionAddress]:
    return [hit.section.place for hit in pilot.app.screen.query_one("#results", Listing).items]


def section(pilot: Chat) -> str:
    return " ".join(str(pilot.app.screen.query_one("#section Static", Static).render()).split())


def title(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one("#panel").border_title)


async def test_what_a_key_does_is_beside_it_or_below_it_where_that_is_too_narrow() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await pilot.press("f1")
        for size, stacked in ((SMALL, False), ((40, 15), True)):
            await pilot.resize_terminal(*size)
            await quiet(pilot)
            key, does = (pilot.app.screen.query(f".keys .{kind}").first(Static) for kind in ("name", "text"))
            assert (does.region.y > key.region.y) is stacked, size
            assert all(cell.region.width > 20 for cell in pilot.app.screen.query(".text")), size


async def test_a_search_finds_commands_keys_and_documentation_opens_a_section_and_esc_goes_back() -> None:
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
        await at_rest(pilot)
        assert 'theme = "specchat-light"' in section(pilot)
        assert title(pilot) == "specchat help · The terminal app › Keys and themes"
        await pilot.press("escape")
        await pilot.pause()
        assert pilot.app.screen.query_one("#results").display
        assert pilot.app.screen.query_one(Input).value == "theme"
        await pilot.press("escape")
        await pilot.pause()
        assert isinstance(pilot.app.screen, ChatScreen)


async def test_arrows_and_digits_go_on_from_a_section() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        pilot.app.push_screen(HelpScreen(place=SectionAddress("figures.md", "Tokens")))
        await at_rest(pilot)
        assert "See also: 1 Losslessness" in section(pilot)
        await pilot.press("1")
        await at_rest(pilot)
        assert title(pilot).startswith("specchat help · Losslessness")
        assert title(pilot).endswith("› The rules")
        await pilot.press("right")
        await at_rest(pilot)
        assert title(pilot).endswith("› A rule for thoughts alone")
        await pilot.press("left", "left", "left")
        await at_rest(pilot)
        assert title(pilot).endswith("› The rules")
        await pilot.press("slash", "k")
        await at_rest(pilot, 0.4)
        assert pilot.app.screen.query_one(Input).value == "k"
        assert pilot.app.screen.query_one("#results").display


async def test_words_with_the_command_are_searched_digits_too_and_what_nothing_matches_is_said() -> None:
    async with chat(ScriptedClient(), SMALL) as pilot:
        await command(pilot, "/help import chatgpt")
        await at_rest(pilot)
        assert SectionAddress("sessions.md", "Import") in results(pilot)
        await pilot.press("ctrl+u")
        await search(pilot, "k 2")
        assert pilot.app.screen.query_one(Input).value == "k 2"
        await pilot.press("ctrl+u")
        await search(pilot, "xyzzyplugh")
        assert text_at(pilot, "nothing") == "nothing in the help has “xyzzyplugh”"
        await pilot.press(*["backspace"] * 10)
        await at_rest(pilot)
        assert pilot.app.screen.query_one("#page").display
        assert not pilot.app.screen.query_one("#nothing").display


async def offer(pilot: Chat, client: ScriptedClient, said: str) -> bool:
    """Whether F1 searches the docs after a question about the GPU that gets this answer."""
    client.rounds = script(said)
    await ask(pilot, "Which GPU do you want?")
    return any("F1 searches the docs for “GPU”" in row for row in seen(pilot))


async def searched(pilot: Chat) -> str:
    await pilot.press("f1")
    await at_rest(pilot)
    return pilot.app.screen.query_one(Input).value


async def test_f1_searches_the_docs_where_the_guide_does_not_know_until_the_next_answer() -> None:
    client = ScriptedClient()
    async with chat(client, SMALL, target=TARGET_NAME) as pilot:
        assert not await offer(pilot, client, "> I know that.")
        assert await offer(pilot, client, "> I do not know that.")
        assert await searched(pilot) == "GPU"
        assert results(pilot)[0].page == "gpu.md"
        await press(pilot, "escape")
        client.rounds = script("> Hello.")
        await ask(pilot, "Hi")
        assert await searched(pilot) == ""


async def test_other_models_offer_no_search() -> None:
    client = ScriptedClient()
    async with chat(client, SMALL) as pilot:
        assert not await offer(pilot, client, "> I do not know that.")
