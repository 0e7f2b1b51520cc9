"""How often what came from the engine is drawn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tui.chatting import answer, ask, chat
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.widgets import engine_link
from specchat.tui.widgets.engine_link import DRAWING_SHARE, LONGEST, SHORTEST, pause_after


@given(st.floats(0, 10))
def test_drawing_takes_no_more_than_its_share_of_a_core_and_is_never_seldom(spent: float) -> None:
    pause = pause_after(spent)
    assert SHORTEST <= pause <= LONGEST
    assert pause == LONGEST or spent <= pause * DRAWING_SHARE * (1 + 1e-9)


async def test_batches_that_are_dear_to_draw_come_less_often(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    pauses: list[float] = []

    def dear() -> float:
        clock[0] += 0.016
        return clock[0]

    def remembered(spent: float) -> float:
        pauses.append(pause_after(spent))
        return 0.01

    monkeypatch.setattr(engine_link, "process_time", dear)
    monkeypatch.setattr(engine_link, "pause_after", remembered)
    async with chat(ScriptedClient(script("> one| two> three"))) as pilot:
        await ask(pilot)
        assert answer(pilot).text == " one two three"
    assert pauses
    assert pauses == pytest.approx([0.016 / DRAWING_SHARE] * len(pauses))
