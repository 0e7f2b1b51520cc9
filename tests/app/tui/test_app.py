"""A trace in an app of its own."""

from textual.pilot import Pilot

from app.tui.screens.test_replay import controls, rows
from specchat.tui.app import ReplayApp
from specchat.tui.appearance import read_appearance
from support.sample_traces import sample_trace


async def played(pilot: Pilot[None]) -> None:
    await pilot.pause(0.1)
    await pilot.press("end")
    await pilot.pause(0.2)


async def test_a_trace_is_played_without_a_chat_and_leaving_it_is_leaving() -> None:
    app = ReplayApp([sample_trace(question="Who?")], "cat.jsonl", read_appearance(None, {}, chosen="nord"))
    async with app.run_test(size=(80, 24)) as pilot:
        await played(pilot)
        assert "Who?" in rows(pilot)
        assert "The cat sat on the red" in rows(pilot)
        assert "round 4 of 4" in controls(pilot)
        assert app.theme == "nord"
        await pilot.press("q")
        await pilot.pause(0.2)
        assert not app.is_running


async def test_each_key_that_quits_does_so() -> None:
    for key in ("escape", "ctrl+q", "ctrl+c"):
        app = ReplayApp([sample_trace()], "cat.jsonl")
        async with app.run_test() as pilot:
            await played(pilot)
            await pilot.press(key)
            await pilot.pause(0.2)
            assert not app.is_running, key
