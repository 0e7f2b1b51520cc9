"""Notes: above the prompt, until the next key."""

import pytest

from app.tui.chatting import ask, chat, command, header, note, quiet
from app.tui.scripted_client import ScriptedClient


@pytest.mark.parametrize("size", [(140, 40), (80, 24), (40, 15)])
async def test_a_note_is_above_the_prompt_as_a_whole_and_leaves_the_header_alone(size: tuple[int, int]) -> None:
    async with chat(ScriptedClient(), size) as pilot:
        before = header(pilot)
        await command(pilot, "/nosuchcommand")
        text = note(pilot)
        assert "there is no command /nosuchcommand: /help lists them; // begins a message with a slash" in text
        assert header(pilot) == before


@pytest.mark.parametrize("key", ["x", "left", "f9"])
async def test_a_note_stays_until_the_next_key(key: str) -> None:
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/regen")
        await pilot.pause(4)
        assert note(pilot) == "there is no answer yet"
        await pilot.press(key)
        assert not note(pilot)


async def test_the_note_that_a_key_makes_replaces_the_one_before() -> None:
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/regen")
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert note(pilot) == "Ctrl+C again quits"


async def test_a_note_about_something_that_goes_on_ends_with_it() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Hi", "/regen ")
        assert note(pilot) == "Esc stops the answer first"
        client.go.set()
        await quiet(pilot)
        assert not note(pilot)
