"""Notes: in the header if they have room, else above the prompt."""

import pytest

from app.tui.chatting import chat, command, header, note_above_the_prompt
from app.tui.scripted_client import ScriptedClient


async def test_a_note_with_room_is_in_the_header() -> None:
    async with chat(ScriptedClient(), (140, 40)) as pilot:
        await command(pilot, "/regen")
        assert header(pilot).endswith("there is no answer yet")
        assert not note_above_the_prompt(pilot)


@pytest.mark.parametrize("size", [(80, 24), (40, 15)])
async def test_a_note_without_room_is_above_the_prompt_as_a_whole(size: tuple[int, int]) -> None:
    async with chat(ScriptedClient(), size) as pilot:
        before = header(pilot)
        await command(pilot, "/nosuchcommand")
        told = note_above_the_prompt(pilot)
        assert "there is no command /nosuchcommand: /help lists them; // begins a message with a slash" in told
        assert header(pilot) == before
