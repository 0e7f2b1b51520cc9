"""Step mode: answers that wait before each round, for a key or for a clock."""

from itertools import pairwise

from app.tui.chatting import Chat, answer, ask, chat, press, prompt, quiet, wait_until
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.widgets.step_bar import SPEEDS, StepBar, Stepping, bar_line

FIVE = "> one| two> three| four~bad~> five| six> seven|> eight"


def bar(pilot: Chat) -> str:
    return " ".join(str(bar.render()) for bar in pilot.app.screen.query(StepBar) if bar.display)


def said(pilot: Chat) -> int:
    return len(answer(pilot).rounds)


async def test_a_frozen_answer_makes_one_round_a_key_and_goes_on_with_enter() -> None:
    async with chat(ScriptedClient(script(FIVE))) as pilot:
        await pilot.press("f5")
        assert "the next answer waits" in bar(pilot)
        await ask(pilot)
        assert said(pilot) == 0
        await press(pilot, "f5")
        assert said(pilot) == 1
        await press(pilot, "space")
        assert said(pilot) == 2
        assert "frozen after round 2" in bar(pilot)
        assert prompt(pilot).text == ""
        await press(pilot, "enter")
        assert said(pilot) == 5
        assert not pilot.app.screen.query_one(StepBar).display


async def test_what_is_being_written_gets_all_its_characters_and_f5_still_steps() -> None:
    client = ScriptedClient(script(FIVE))
    async with chat(client) as pilot:
        await press(pilot, "f5", "plus", *"a b", "enter")
        assert client.asked[-1][-1].content == "+a b"
        await press(pilot, "space", "a", "space", "plus", "b", "f5")
        assert prompt(pilot).text == "a +b"
        assert said(pilot) == 2
        assert "Shift+F5" in bar(pilot)


async def test_another_k_counts_from_the_next_round_of_a_frozen_answer_and_esc_stops_it() -> None:
    client = ScriptedClient(script(FIVE))
    async with chat(client) as pilot:
        await pilot.press("f5")
        await ask(pilot)
        await pilot.press("ctrl+up")
        assert client.settings[-1].k != client.settings[0].k
        assert said(pilot) == 0
        await press(pilot, "space")
        await press(pilot, "escape")
        assert not answer(pilot).live
        assert answer(pilot).raw == " one"


async def test_slow_motion_lets_rounds_through_by_itself_until_it_is_held() -> None:
    client = ScriptedClient(script("|".join(["> w"] * 200)))
    async with chat(client) as pilot:
        await pilot.press("f5")
        await ask(pilot)
        await pilot.press(*["plus"] * 9)
        assert "20 rounds/s" in bar(pilot)
        await wait_until(lambda: said(pilot) >= 3)
        await press(pilot, "space")
        held = said(pilot)
        assert held < 200
        assert f"frozen after round {held}" in bar(pilot)


async def test_rounds_that_a_slow_engine_still_owes_are_forgotten_when_it_is_held() -> None:
    client = ScriptedClient(script("|".join(["> w"] * 200)), hold_after=2)
    async with chat(client) as pilot:
        await pilot.press("f5")
        await ask(pilot)
        await pilot.press(*["plus"] * 9)
        for _ in range(20):
            await pilot.pause(0.1)
        assert said(pilot) == 2
        await pilot.press("space")
        client.go.set()
        await quiet(pilot)
        assert said(pilot) <= 3


async def test_an_answer_that_runs_is_frozen_where_it_is() -> None:
    client = ScriptedClient(script(FIVE), hold_after=2)
    async with chat(client) as pilot:
        await ask(pilot)
        await pilot.press("f5")
        client.go.set()
        await quiet(pilot)
        assert said(pilot) == 2
        assert "frozen after round 2" in bar(pilot)


def test_the_speeds_of_slow_motion_reach_from_a_half_to_twenty() -> None:
    paces = [Stepping(on=True).at_pace(1)]
    paces += [paces[0].at_pace(steps) for steps in range(-9, 10)]
    assert {pace.speed for pace in paces} == set(SPEEDS) == {0.5, 1, 2, 3, 5, 8, 12, 20}


def test_while_something_is_written_the_bar_says_what_f5_does() -> None:
    held, moving = Stepping(on=True), Stepping(on=True, moving=True)
    assert "F5 one round" in bar_line(held, 3, 120, writing=True).plain
    assert "F5 holds" in bar_line(moving, 3, 120, writing=True).plain


def test_the_bar_says_less_where_there_is_less_room_and_the_round_always() -> None:
    lines = [bar_line(Stepping(on=True), 14, width).plain for width in (120, 80, 40)]
    assert all(line.startswith("❚❚ frozen after round 14") for line in lines)
    assert all(longer.startswith(shorter) and longer != shorter for longer, shorter in pairwise(lines))
    assert "Esc" in lines[0]
