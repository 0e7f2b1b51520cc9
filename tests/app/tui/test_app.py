"""A trace in an app of its own."""

import pytest
from textual.pilot import Pilot

from app.tui.chatting import at_rest, wait_until
from app.tui.screens.test_replay import controls, rows
from specchat.tui.app import ReplayApp
from specchat.tui.appearance import read_appearance
from support.sample_traces import sample_trace


async def played(pilot: Pilot[None]) -> None:
    await at_rest(pilot)
    await pilot.press("end")
    await at_rest(pilot)


async def test_a_trace_is_played_without_a_chat_and_leaving_it_is_leaving() -> None:
    app = ReplayApp([sample_trace(question="Who?")], "cat.jsonl", read_appearance(None, {}, chosen="nord"))
    async with app.run_test(size=(80, 24)) as pilot:
        await played(pilot)
        assert "Who?" in rows(pilot)
        assert "The cat sat on the red" in rows(pilot)
        assert "round 4 of 4" in controls(pilot)
        assert app.theme == "nord"
        await pilot.press("q")
        await wait_until(lambda: not app.is_running)


@pytest.mark.parametrize("key", ["escape", "ctrl+q", "ctrl+c"])
async def test_each_key_that_quits_does_so(key: str) -> None:
    app = ReplayApp([sample_trace()], "cat.jsonl")
    async with app.run_test() as pilot:
        await played(pilot)
        await pilot.press(key)
        await wait_until(lambda: not app.is_running)
