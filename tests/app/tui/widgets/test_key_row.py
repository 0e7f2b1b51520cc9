from hypothesis import given
from hypothesis import strategies as some

from app.tui.chatting import Chat, ask, at_rest, chat, quiet
from app.tui.scripted_client import ScriptedClient
from specchat.tui.widgets.key_row import KeyRow, OfferedKey, fitting
from specchat.tui.widgets.knobs import Knobs


def shown(pilot: Chat) -> str:
    row = pilot.app.screen.query_one(KeyRow)
    return "".join(segment.text for segment in row.render_line(0)).rstrip()


@given(
    some.lists(some.tuples(some.text("abc^", min_size=1, max_size=4), some.text("Key ⏎", max_size=9))),
    some.integers(0, 90),
)
def test_as_many_keys_as_fit_are_shown_whole_and_the_first_come_first(words: list[tuple[str, str]], width: int) -> None:
    keys = [OfferedKey(key, key, description) for key, description in words]
    fit = fitting(keys, width)
    assert fit == keys[: len(fit)]
    needed = [sum(key.width for key in keys[:count]) + count - 1 for count in range(1, len(keys) + 1)]
    assert len(fit) == sum(need <= width for need in needed)


async def test_no_key_is_cut_a_click_presses_one_and_behind_a_window_there_are_none() -> None:
    async with chat(ScriptedClient(hold_after=1), (60, 24)) as pilot:
        for width, last in ((60, " New"), (80, " Race")):
            await pilot.resize_terminal(width, 24)
            await quiet(pilot)
            assert shown(pilot).startswith("F1 Help F2 Knobs F3 View F8 Models ^o Sessions ^n New")
            assert shown(pilot).endswith(last)
        await pilot.click(KeyRow, offset=(shown(pilot).index("F2 Knobs") + 4, 0))
        await at_rest(pilot)
        assert pilot.app.screen.query_one(Knobs).display
        assert shown(pilot).startswith("esc Back")
        await pilot.click(KeyRow, offset=(79, 0))
        await pilot.press("escape")
        row = pilot.app.screen.query_one(KeyRow)
        await pilot.press("f1")
        await at_rest(pilot)
        assert not row.render_line(0).text.strip()
        await pilot.press("escape")
        await at_rest(pilot)
        assert shown(pilot).startswith("F1 Help")
        await ask(pilot)
        assert shown(pilot).startswith("esc Stop F1 Help"), "while an answer is written its key comes first"
