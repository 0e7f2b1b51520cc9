import pytest

from app.tui.prompting import prompting

LONG = "\n".join(f"line {number}" for number in range(10_000))


async def test_a_long_paste_stands_behind_a_label_and_is_sent_in_full() -> None:
    async with prompting() as at:
        await at.press(*"See: ")
        await at.paste(LONG)
        assert at.text == "See: [pasted #1: 10,000 lines]"
        await at.press(*" ok?", "enter")
        assert at.sent == [f"See: {LONG} ok?"]
        assert at.host.submitted[0].shown == "See: [pasted #1: 10,000 lines] ok?"


async def test_a_short_paste_is_harmless_text_and_a_long_line_is_counted_in_characters() -> None:
    async with prompting() as at:
        await at.paste("one\r\n\x1b[31mtwo\x1b[0m\x1b]52;c;ZWNobw==\x07")
        await at.press("!")
        assert at.text == "one\ntwo!"
        at.prompt.write("")
        await at.paste("x" * 2500)
        assert at.text == "[pasted #1: 2,500 characters]"


async def test_deleting_a_part_takes_all_of_a_label_and_undo_brings_it_back() -> None:
    async with prompting() as at:
        await at.press("a")
        await at.paste(LONG)
        await at.press("b", "left", "backspace")
        assert at.text == "ab"
        await at.press("ctrl+z")
        await at.press("enter")
        assert at.sent == [f"a{LONG}b"]


@pytest.mark.parametrize("keys", [("delete",), ("alt+delete",), ("ctrl+k",), ("shift+right", "x")])
async def test_whatever_deletes_from_the_left_takes_all_of_a_label(keys: tuple[str, ...]) -> None:
    async with prompting() as at:
        await at.paste(LONG)
        await at.press("home", *keys)
        assert at.text.replace("x", "") == ""


async def test_the_cursor_passes_over_a_label() -> None:
    async with prompting() as at:
        await at.press("a")
        await at.paste(LONG)
        await at.press("b", "left", "left", "x", "right", "y", "enter")
        assert at.sent == [f"ax{LONG}yb"]


async def test_a_click_or_an_up_key_that_lands_inside_a_label_does_not_break_it() -> None:
    async with prompting() as at:
        await at.paste(LONG)
        await at.pilot.click(at.prompt, offset=(8, 0))
        await at.press("x", "end", "ctrl+j", *"12345678", "up", "x", "enter")
        assert at.sent[0].replace("x", "") == f"{LONG}\n12345678"


async def test_two_pastes_are_told_apart_and_the_words_of_a_label_in_a_paste_are_its_own() -> None:
    other = LONG.replace("line", "row")
    first = LONG + " [pasted #2: 10,000 lines]"
    async with prompting() as at:
        await at.paste(first)
        await at.paste(other)
        await at.press("enter")
        assert at.sent == [first + other]


async def test_a_copied_or_cut_label_is_pasted_in_full() -> None:
    async with prompting() as at:
        await at.paste(LONG)
        await at.press("shift+home", "ctrl+c")
        assert at.host.clipboard == LONG
        await at.press("end", "ctrl+v", "shift+home", "ctrl+x", "a", "ctrl+v", "enter")
        assert at.sent == ["a" + LONG + LONG]
