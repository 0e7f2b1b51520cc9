"""The knobs of loading: what waits for Enter, what changes at once, and the memory that is needed."""

from __future__ import annotations

from app.tui.chatting import ask, at_rest, chat, command, header, notices, screen, shown
from app.tui.scripted_client import ScriptedClient, script
from specchat.chat.knobs import LOAD_KNOBS
from specchat.engine_process.protocol import TaskFailed
from specchat.tui.memory_estimate import placed
from specchat.tui.widgets.load_knobs import LoadKnobRow, LoadKnobs
from specchat_engine.load_options import LoadOptions
from specchat_engine.memory.placement import DeviceMemory, Machine, PlacedBytes, Placement, Remedy


def test_missing_memory_is_reported_with_remedies() -> None:
    machine = Machine((DeviceMemory("CPU", "cpu", 10**9, 2 * 10**9), DeviceMemory("CUDA0", "gpu", 10**9, 10**9)))
    parts = (PlacedBytes("target", "weights", "CPU", 3 * 10**9), PlacedBytes("draft", "weights", "CUDA0", 5 * 10**8))
    remedies = (Remedy("n_ctx", 4096), Remedy("cache_type", "q8_0"))
    words = str(placed(Placement(parts, {"CPU": 2 * 10**9}, remedies), machine))
    assert words.splitlines() == [
        "✗ takes 3.0 GB of 1.0 GB on CPU",
        "takes 500.0 MB of 1.0 GB on CUDA0",
        "or context 4096, or cache q8_0",
    ]


async def test_knobs_wait_for_enter_and_keep_the_conversation() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f2")
        knobs = pilot.app.screen.query_one(LoadKnobs)
        row = next(one for one in knobs.query(LoadKnobRow) if one.knob is LOAD_KNOBS["gpu-layers"])
        row.focus()
        await pilot.press("right", "right", "right", "right")
        assert "3" in str(row.render())
        assert "*" in str(row.render())
        assert "Enter loads again; the conversation stays" in str(knobs.query_one("#what").render())
        assert len(client.loaded) == 1
        await pilot.press("enter")
        await at_rest(pilot, 0.5)
        assert screen(pilot).state.session.options.load == LoadOptions(gpu_layers=3)
        assert len(client.loaded) == 2
        assert "*" not in str(row.render())
        assert shown(pilot) == ["Who?", " one"]
        assert "builtin-guide" in header(pilot)


async def test_threads_change_at_once_and_keep_the_other_changes() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f2")
        knobs = pilot.app.screen.query_one(LoadKnobs)
        found = {one.knob.key: one for one in knobs.query(LoadKnobRow) if one.knob is not None}
        found["gpu-layers"].focus()
        await pilot.press("right")
        found["threads"].focus()
        await pilot.press("right", "right")
        await at_rest(pilot)
        assert [(options.threads, options.gpu_layers) for options in client.threads] == [(1, -1), (2, -1)]
        assert screen(pilot).state.session.options.load == LoadOptions(threads=2)
        assert str(found["threads"].render()).rstrip(" ›").endswith("2")
        assert "*" not in str(found["threads"].render())
        assert "*" in str(found["gpu-layers"].render())
        await command(pilot, "/set threads cores")
        assert client.threads[-1] == LoadOptions()
        assert len(client.loaded) == 1
        await pilot.press("f2")
        assert shown(pilot) == ["Who?", " one"]


async def test_options_that_cannot_be_loaded_change_nothing() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        client.loads = [(TaskFailed("there is no memory for a context of 8192 tokens: use a smaller one"),)]
        await command(pilot, "/set ctx 8192")
        assert "no memory for a context" in notices(pilot)[0]
        assert screen(pilot).state.session.options.load == LoadOptions()
        await pilot.press("f2")
        row = next(one for one in pilot.app.screen.query(LoadKnobRow) if one.knob is LOAD_KNOBS["ctx-size"])
        assert "model's" in str(row.render())
