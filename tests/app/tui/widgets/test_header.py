"""Notes: in the header if they have room, else above the prompt."""

import pytest

from app.tui.chatting import chat, command, header, note_above_the_prompt
from app.tui.scripted_client import ScriptedClient
from specchat.chat.session import HeaderView, Speculation
from specchat.tui.widgets.header import header as draw_header


@pytest.mark.parametrize(
    ("width", "shown"), [(140, "ctx 900/1024! stops next   seed 7"), (52, "ctx 900/1024!"), (40, "ctx 900/1024!")]
)
def test_a_nearly_full_context_says_what_happens_next(width: int, shown: str) -> None:
    view = HeaderView("guide ⇠ draft", Speculation.ACTIVE, "active · hybrid", 900, 1024, 7, when_full="stops next")
    drawn = draw_header(view, "", width)
    assert drawn.cell_length == width
    assert drawn.plain.endswith(shown)
    assert "!" not in draw_header(view._replace(when_full=""), "", width).plain


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
