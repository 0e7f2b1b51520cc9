"""vi's keys in the chat: switched while it runs, shown in the border, and Esc that still stops an answer."""

from app.tui.chatting import Chat, answer, chat, command, note, press, prompt, quiet
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.appearance import Appearance


def mode(pilot: Chat) -> str:
    return str(pilot.app.screen.query_one("#entry").border_title or "").strip()


async def test_the_keys_are_switched_while_the_chat_runs_and_the_border_shows_the_mode() -> None:
    async with chat(ScriptedClient()) as pilot:
        assert not mode(pilot)
        await command(pilot, "/vi")
        assert mode(pilot) == "insert"
        assert "vi's keys are on" in note(pilot)
        await pilot.press(*"one", "escape")
        await pilot.pause()
        assert mode(pilot) == "normal"
        await pilot.press("x", "i")
        await pilot.pause()
        assert (prompt(pilot).text, mode(pilot)) == ("on", "insert")
        await command(pilot, "/set vi-keys off")
        await pilot.press("escape", "x")
        assert (prompt(pilot).text, mode(pilot)) == ("x", "")


async def test_the_first_esc_leaves_insert_mode_and_the_second_stops_the_answer() -> None:
    client = ScriptedClient(rounds=script("> one| two> three> four"), hold_after=1)
    async with chat(client) as pilot:
        await command(pilot, "/vi on")
        await pilot.press(*"Hi", "enter")
        await quiet(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert not client.stopped
        await press(pilot, "escape")
        assert client.stopped
        assert "stopped" in answer(pilot).figures


async def test_the_appearance_turns_them_on_from_the_start() -> None:
    async with chat(ScriptedClient(), appearance=Appearance(vi_keys=True)) as pilot:
        assert mode(pilot) == "insert"
