"""Models are named behind /model and /draft."""

from __future__ import annotations

from dataclasses import replace

from app.tui.chatting import Chat, notices, press, prompt, screen
from app.tui.screens.test_models import chatting, options
from app.tui.scripted_client import LOADED
from specchat.models.preferences import Preferences, write_preferences
from specchat.settings.options import ChatOptions
from support.tiny_models import TinyModels

__all__ = ["options"]


async def write(pilot: Chat, text: str) -> None:
    """Writes when what the library holds is known."""
    await pilot.press("/")
    screen(pilot).library.wait()
    await pilot.press(*text.removeprefix("/"))
    await pilot.pause()


async def test_own_names_and_the_built_in_pair_are_completed(options: ChatOptions, tiny_models: TinyModels) -> None:
    write_preferences(Preferences(folders=(str(tiny_models.target.parent),), aliases={"strange": "stranger"}))
    async with chatting(options) as (pilot, client):
        await write(pilot, "/model stra")
        await pilot.press("tab")
        assert prompt(pilot).text == "/model strange"
        await press(pilot, "enter")
        assert client.loaded[-1] == (tiny_models.stranger, None)
        await write(pilot, "/model specchat-gui")
        await press(pilot, "tab", "enter")
        assert client.loaded[-1][0].name == "specchat-guide-18m.gguf"
        assert not notices(pilot)


async def test_a_draft_that_joins_a_target_without_one_is_used(options: ChatOptions, tiny_models: TinyModels) -> None:
    async with chatting(options) as (pilot, client):
        client.load_events = (replace(LOADED, draft=None, drafters=("lookup", "none")),)
        await press(pilot, *"/set ctx 512", "enter")
        client.load_events = (LOADED,)
        await write(pilot, "/draft dra")
        await press(pilot, "tab", "enter")
        assert client.loaded[-1] == (tiny_models.target, tiny_models.draft)
        settings = screen(pilot).state.settings
        assert settings is not None
        assert settings.drafter == "hybrid"
