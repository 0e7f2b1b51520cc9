"""What takes effect when the models are loaded again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.tui.chatting import ask, chat, header, notices
from app.tui.scripted_client import ScriptedClient, script
from app.tui.test_branching import command, screen, shown
from specchat.tui.commands.invocations import Refusal, Reload
from specchat.tui.commands.parsing import parse
from specchat.tui.commands.sources import Sources
from specchat.tui.estimating import placed
from specchat.tui.load_dials import LOAD_DIALS, LOADABLE
from specchat.tui.widgets.load_knobs import LoadKnob, LoadKnobs
from specchat.worker.protocol import WorkerFailed
from specchat_engine.errors import SettingError
from specchat_engine.footprint import DeviceMemory, Machine, Placement, Remedy
from specchat_engine.footprint.placement import Part
from specchat_engine.options import LoadOptions


@given(place=st.integers(0, len(LOAD_DIALS) - 1), steps=st.lists(st.integers(-3, 3), max_size=12))
def test_every_turn_gives_options_whose_text_leads_back_to_them(place: int, steps: list[int]) -> None:
    dial, options = LOAD_DIALS[place], LoadOptions()
    for step in steps:
        options = dial.turned(options, step)
    assert dial.typed(LoadOptions(), dial.text(options)) == options


def test_a_step_of_the_context_doubles_or_halves_it_and_below_lies_the_models_own() -> None:
    dial, options = LOADABLE["ctx-size"], LoadOptions(n_ctx=3000)
    assert [dial.turned(options, steps).n_ctx for steps in (-4, -2, -1, 0, 1, 2)] == [0, 1024, 2048, 3000, 4096, 8192]
    assert dial.turned(LoadOptions(), -1) == LoadOptions()
    assert dial.turned(LoadOptions(), 1).n_ctx == 512


@pytest.mark.parametrize(
    ("text", "changed"),
    [
        ("/set threads 4", LoadOptions(threads=4)),
        ("/set ctx 8192", LoadOptions(n_ctx=8192)),
        ("/set -ngl 12".replace("-", ""), LoadOptions(gpu_layers=12)),
        ("/set gpu_layers_draft none", LoadOptions(gpu_layers_draft=0)),
        ("/set cache-type-k q8_0", LoadOptions(cache_type_k="q8_0")),
        ("/set fa on", LoadOptions(flash_attention="on")),
    ],
)
def test_set_reaches_what_needs_a_reload(text: str, changed: LoadOptions) -> None:
    found = parse(text, Sources())
    assert isinstance(found, Reload)
    assert found.applied(LoadOptions()) == changed


@pytest.mark.parametrize("value", ["threads", "threads many", "ctx -5", "cache-type-v q9", "ngl 99999"])
def test_a_value_that_cannot_be_is_refused_before_anything_is_loaded(value: str) -> None:
    found = parse(f"/set {value}", Sources())
    assert isinstance(found, Refusal)
    assert len(found.reason.splitlines()) == 1


def test_words_for_a_number_are_offered_where_it_is_refused() -> None:
    with pytest.raises(SettingError, match="gpu-layers is 'x': use 0 to 10000, all, none"):
        LOADABLE["gpu-layers"].typed(LoadOptions(), "x")


def test_memory_that_is_not_there_is_said_with_what_would_help() -> None:
    machine = Machine((DeviceMemory("CPU", "cpu", 10**9, 2 * 10**9), DeviceMemory("CUDA0", "gpu", 10**9, 10**9)))
    parts = (Part("target", "weights", "CPU", 3 * 10**9), Part("draft", "weights", "CUDA0", 5 * 10**8))
    remedies = (Remedy("n_ctx", 4096), Remedy("cache_type", "q8_0"))
    words = str(placed(Placement(parts, {"CPU": 2 * 10**9}, remedies), machine))
    assert words.splitlines() == [
        "✗ takes 3.0 GB of 1.0 GB on CPU",
        "takes 500.0 MB of 1.0 GB on CUDA0",
        "or context 4096, or cache q8_0",
    ]


async def test_turned_knobs_wait_for_enter_and_the_conversation_stays() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("f2")
        knobs = pilot.app.screen.query_one(LoadKnobs)
        dial = next(one for one in knobs.query(LoadKnob) if one.dial is LOADABLE["threads"])
        dial.focus()
        await pilot.press("right", "right", "right")
        assert "3" in str(dial.render())
        assert "*" in str(dial.render())
        assert "Enter loads again; the conversation stays" in str(knobs.query_one("#what").render())
        assert len(client.loaded) == 1
        await pilot.press("enter")
        await pilot.pause(0.5)
        assert screen(pilot).options.options == LoadOptions(threads=3)
        assert len(client.loaded) == 2
        assert "*" not in str(dial.render())
        assert shown(pilot) == ["Who?", " one"]
        assert "builtin-guide" in header(pilot)


async def test_options_that_cannot_be_loaded_leave_the_pair_and_the_knobs_as_they_were() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        client.loads = [(WorkerFailed("there is no memory for a context of 8192 tokens: use a smaller one"),)]
        await command(pilot, "/set ctx 8192")
        assert "no memory for a context" in notices(pilot)[0]
        assert screen(pilot).options.options == LoadOptions()
        knob = next(one for one in pilot.app.screen.query(LoadKnob) if one.dial is LOADABLE["ctx-size"])
        assert "model's" in str(knob.render())
