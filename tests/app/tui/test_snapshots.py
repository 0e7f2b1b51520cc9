"""A few pictures of the whole screen. Look at them when they change: `pytest --snapshot-update`, then open the SVG."""

from collections.abc import Callable

import pytest
from textual.pilot import Pilot

from app.tui.chatting import press, quiet
from app.tui.scripted_client import ScriptedClient, chat_options, script
from specchat.tui.app import SpecchatApp

ANSWER = (
    ">Decoding| one token~ needs~/ a/> moves| all the weights> from| memory once, and> does"
    "|~ so~/ much/ less/ of/> very| little arithmetic with> them.|>\n\n|>Checking| five tokens> moves"
    "| the same weights> once ▸|> more"
)
SHOWN = 10

Snapshot = Callable[..., bool]


async def nothing(pilot: Pilot[None]) -> None:
    await quiet(pilot)


async def ask(pilot: Pilot[None]) -> None:
    await quiet(pilot)
    await press(pilot, *"Why?", "enter")


def app() -> SpecchatApp:
    return SpecchatApp(chat_options(), ScriptedClient(script(ANSWER), hold_after=SHOWN))


def test_an_empty_chat(snap_compare: Snapshot) -> None:
    assert snap_compare(app(), terminal_size=(140, 40), run_before=nothing)


def test_a_streaming_trace_on_a_wide_screen(snap_compare: Snapshot) -> None:
    assert snap_compare(app(), terminal_size=(140, 40), run_before=ask)


def test_a_streaming_trace_on_a_narrow_screen(snap_compare: Snapshot) -> None:
    assert snap_compare(app(), terminal_size=(80, 24), run_before=ask)


def test_a_streaming_trace_without_colour(snap_compare: Snapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(), terminal_size=(100, 30), run_before=ask)
