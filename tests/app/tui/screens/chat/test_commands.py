"""The palette over the chat."""

from app.tui.chatting import ask, chat, quiet
from app.tui.scripted_client import ScriptedClient
from specchat.tui.screens.chat.commands import TEXTUALS_COMMANDS
from specchat.tui.screens.replay import ReplayScreen
from specchat.tui.widgets.knobs import Knobs


async def test_the_palette_offers_what_can_be_done_without_a_word_more() -> None:
    async with chat(ScriptedClient()) as pilot:
        offered = [command.title for command in pilot.app.get_system_commands(pilot.app.screen)]
        assert {"/sessions", "/models", "/stats", "/replay", "Knobs", "Inspect"} <= set(offered)
        assert not {"/k", "/temp", "/quit", "/theme", "Keys", "Maximize"} & set(offered)
        assert set(offered) >= TEXTUALS_COMMANDS
        assert len(offered) == len(set(offered))


async def test_what_is_chosen_in_the_palette_is_done() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot)
        for typed in ("replay", "knobs"):
            await pilot.press("ctrl+p")
            await pilot.pause(0.3)
            await pilot.press(*typed)
            await pilot.pause(0.5)
            await pilot.press("enter")
            await pilot.pause(0.3)
            if typed == "replay":
                assert isinstance(pilot.app.screen, ReplayScreen)
                await pilot.press("escape")
                await quiet(pilot)
        assert pilot.app.screen.query_one(Knobs).display
