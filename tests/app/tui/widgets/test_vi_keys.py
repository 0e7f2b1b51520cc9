"""vi's keys in the real prompt."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.events import Key

from app.tui.prompting import Prompting, prompting, sources_in
from specchat.tui.widgets.composer import index_of

LONG = "\n".join(f"line {number}" for number in range(214))


async def begin(at: Prompting, text: str) -> None:
    """Writes a text and goes to its first character in normal mode."""
    at.prompt.use_vi_keys(True)
    at.prompt.load_text(text)
    await at.press("escape", "g", "g", "0")


def shown(at: Prompting) -> str:
    place = index_of(at.text, at.prompt.cursor_location)
    return f"{at.text[:place]}|{at.text[place:]}"


async def test_keys_write_until_esc_and_are_commands_after_it() -> None:
    async with prompting() as at:
        at.prompt.use_vi_keys(True)
        await at.press(*"dw one two", "escape", "b", "d", "w", "0", "x", *"ihey ", "enter")
        assert at.sent == ["hey w one"]
        await at.press(*"dd")
        assert at.text == "dd", "an empty prompt writes"


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("dw", "|two\nthree"),
        ("jx", "one two\n|hree"),
        ("ddp", "three\n|one two"),
        ("2Gyykp", "one two\n|three\nthree"),
        ("G$aX", "one two\nthreeX|"),
    ],
)
async def test_the_text_area_does_what_the_keys_say(keys: str, expected: str) -> None:
    async with prompting() as at:
        await begin(at, "one two\nthree")
        await at.press(*keys)
        assert shown(at) == expected


async def test_undo_takes_back_one_change_and_redo_makes_it_again() -> None:
    async with prompting() as at:
        await begin(at, "one two three")
        await at.press("d", "w", "x", "u")
        assert at.text == "two three"
        await at.press("u")
        assert at.text == "one two three"
        await at.press("ctrl+r")
        assert at.text == "two three"
        await at.press("A", *" and more", "escape", "u")
        assert at.text == "two three", "what was written in one go is taken back in one go"


async def test_ctrl_r_searches_in_insert_mode_and_esc_ends_the_search_first() -> None:
    async with prompting() as at:
        at.prompt.use_vi_keys(True)
        await at.press("ctrl+r")
        assert at.offered
        await at.press("escape", "x")
        assert at.text == "x"


async def test_esc_with_an_open_popup_closes_it_and_leaves_insert_mode(tmp_path: Path) -> None:
    async with prompting(sources_in(tmp_path)) as at:
        at.prompt.use_vi_keys(True)
        await at.press(*"/he")
        assert at.offered
        await at.press("escape", "x")
        assert (at.offered, at.text) == ([], "/h")


async def test_a_label_is_deleted_and_put_back_as_a_whole() -> None:
    async with prompting() as at:
        at.prompt.use_vi_keys(True)
        await at.press(*"See ")
        await at.paste(LONG)
        await at.press(*" ok", "escape", "0", "w", "x")
        assert at.text == "See  ok"
        await at.press("P", "enter")
        assert at.sent == [f"See {LONG} ok"]


async def test_esc_and_a_letter_that_the_terminal_reports_as_one_key_are_both() -> None:
    async with prompting() as at:
        at.prompt.use_vi_keys(True)
        await at.press(*"one two")
        at.host.post_message(Key("alt+b", "b"))
        await at.press("x")
        assert at.text == "one wo"


async def test_keys_that_vi_does_not_know_work_as_before() -> None:
    async with prompting() as at:
        await begin(at, "one two")
        await at.press("end", "left", "left", "delete")
        assert at.text == "one to"
        at.prompt.use_vi_keys(False)
        await at.press("home", "x")
        assert at.text == "xone to"
