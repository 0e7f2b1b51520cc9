"""The palette over the chat, and a command that asks."""

from pathlib import Path

import pytest
from textual.widgets import Input

from app.chat.commands.recording_front_end import every_command
from app.tui.chatting import ask, at_rest, chat, command, notices, press, quiet, screen
from app.tui.scripted_client import ScriptedClient, chat_options
from specchat.tui.app import ReplayApp, SpecchatApp
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.question import OverwriteScreen
from specchat.tui.screens.replay import ReplayScreen
from specchat.tui.widgets.knobs import Knobs
from support.sample_traces import sample_trace


@pytest.mark.parametrize("replays", [False, True])
async def test_the_palette_offers_in_our_words_what_can_be_done_without_a_word_more(replays: bool) -> None:
    app = ReplayApp([sample_trace()], "t.jsonl") if replays else SpecchatApp(chat_options(), ScriptedClient())
    async with app.run_test() as pilot:
        await pilot.pause()
        offered = [command.title for command in app.get_system_commands(app.screen)]
        own = set() if replays else {"/sessions", "/models", "/stats", "/replay", "Knobs", "Inspect"}
        assert {"Theme", "Screenshot", "Quit", *own} <= set(offered)
        assert not {"/k", "/temp", "/quit", "/theme", "Keys", "Maximize"} & set(offered)
        assert len(offered) == len(set(offered))
        for title, placeholder in (("", "Find a command"), ("Theme", "Find a theme")):
            if title:
                app.action_change_theme()
            else:
                await pilot.press("ctrl+p")
            await at_rest(pilot)
            assert app.screen.query_one(Input).placeholder == placeholder
            await pilot.press("escape")
            await at_rest(pilot)


async def test_what_is_chosen_in_the_palette_is_done() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot)
        for typed in ("replay", "knobs"):
            await pilot.press("ctrl+p")
            await at_rest(pilot)
            await pilot.press(*typed)
            await at_rest(pilot, 0.4)
            await pilot.press("enter")
            await at_rest(pilot)
            if typed == "replay":
                assert isinstance(pilot.app.screen, ReplayScreen)
                await press(pilot, "escape")
        assert pilot.app.screen.query_one(Knobs).display


async def test_an_export_asks_before_it_replaces_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.md"
    path.write_text("mine")
    async with chat(ScriptedClient(), (80, 24)) as pilot:
        await ask(pilot, "Why?")
        for key in ("escape", "enter", "n"):
            await command(pilot, f"/export markdown {path}")
            assert isinstance(pilot.app.screen, OverwriteScreen)
            await pilot.press(key)
            await press(pilot, "escape")
            assert path.read_text() == "mine"
        await command(pilot, f"/export markdown {path}")
        await pilot.press("y")
        await pilot.app.workers.wait_for_complete()
        await quiet(pilot)
        assert "Why?" in path.read_text()
        assert notices(pilot)[-1].endswith(f"exported to {path}")


async def test_every_command_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot)
        front_end = screen(pilot).front_end
        for name, invocation in every_command():
            if name not in ("quit", "theme"):
                await front_end.perform(invocation)
                while not isinstance(pilot.app.screen, ChatScreen):
                    await pilot.pause()
                    pilot.app.pop_screen()
