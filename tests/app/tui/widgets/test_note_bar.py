"""Notes: above the prompt, until the next key."""

from app.tui.chatting import chat, command, header, note, prompt, quiet
from app.tui.scripted_client import ScriptedClient


async def test_a_note_is_above_the_prompt_as_a_whole_and_leaves_the_header_alone() -> None:
    async with chat(ScriptedClient()) as pilot:
        for size in ((140, 40), (80, 24), (40, 15)):
            await pilot.resize_terminal(*size)
            await quiet(pilot)
            before = header(pilot)
            await command(pilot, "/nosuchcommand")
            text = note(pilot)
            assert "there is no command /nosuchcommand: /help lists them; // begins a message with a slash" in text
            assert header(pilot) == before
            assert prompt(pilot).text == "/nosuchcommand"


async def test_a_note_stays_until_the_next_key_which_may_make_another() -> None:
    async with chat(ScriptedClient()) as pilot:
        for key, pause in (("x", 4), ("left", 0), ("f9", 0), ("ctrl+c", 0)):
            await command(pilot, "/regen")
            await pilot.pause(pause)
            assert note(pilot) == "there is no answer yet"
            await pilot.press(key)
            assert note(pilot) == ("Ctrl+C again quits" if key == "ctrl+c" else ""), key
