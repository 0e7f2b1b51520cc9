"""How often what came from the engine is drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tui.chatting import answer, ask, chat
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui import engine_link
from specchat.tui.engine_link import LEAST_SHARE, LONGEST, MOST_SHARE, SHORTEST, pause_after


@given(st.floats(0, 10), st.integers(0, 1000))
def test_drawing_takes_no_more_than_its_share_of_a_core_and_is_never_seldom(spent: float, arrived: int) -> None:
    pause = pause_after(spent, arrived)
    assert SHORTEST <= pause <= LONGEST
    assert pause == LONGEST or spent <= pause * MOST_SHARE * (1 + 1e-9)


@given(st.floats(0, 10))
def test_a_slow_answer_loses_little_by_being_drawn(spent: float) -> None:
    pause = pause_after(spent, 1)
    assert pause == LONGEST or spent <= pause * LEAST_SHARE * (1 + 1e-9)


@given(st.floats(0, 10), st.integers(0, 100), st.integers(0, 100))
def test_what_comes_in_larger_batches_is_drawn_no_less_often(spent: float, arrived: int, more: int) -> None:
    assert pause_after(spent, arrived + more) <= pause_after(spent, arrived)


async def test_batches_that_are_dear_to_draw_come_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    pauses: list[float] = []
    batches: list[int] = []

    def dear() -> float:
        clock[0] += 0.016
        return clock[0]

    def remembered(spent: float, arrived: int) -> float:
        pauses.append(pause_after(spent, arrived))
        batches.append(arrived)
        return 0.01

    monkeypatch.setattr(engine_link, "process_time", dear)
    monkeypatch.setattr(engine_link, "pause_after", remembered)
    async with chat(ScriptedClient(script("> one| two> three"))) as pilot:
        await ask(pilot)
        assert answer(pilot).text == " one two three"
    assert pauses
    assert pauses == pytest.approx([pause_after(0.016, arrived) for arrived in batches])
    assert sum(batches) >= 3, "what each of them brings is counted"
