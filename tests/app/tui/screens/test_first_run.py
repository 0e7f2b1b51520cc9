"""The window of the first start."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from app.tui.chatting import Chat, at_rest, prompt, quiet, screen, shown
from app.tui.screens.test_models import shown as words
from app.tui.screens.test_models import until
from app.tui.scripted_client import ScriptedClient, chat_options, script
from specchat.models.chosen_pair import is_first_run
from specchat.models.machine import ComputeDevice
from specchat.models.recommended import few, note, suggestions
from specchat.settings.schema import Config
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.first_run import FirstRunScreen, Fitting
from specchat.tui.screens.models import ModelsScreen
from specchat.tui.widgets.listing import Listing
from specchat_engine.memory.placement import DeviceMemory, Machine


@asynccontextmanager
async def first_run(client: ScriptedClient, size: tuple[int, int] = (80, 24)) -> AsyncIterator[Chat]:
    app = SpecchatApp(chat_options(), client, first_run=True)
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(pilot.app.screen, FirstRunScreen))
        yield pilot


async def back_in_the_chat(pilot: Chat) -> None:
    await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
    await quiet(pilot)


async def test_a_question_can_be_typed_and_sent_while_the_pair_is_loading() -> None:
    client = ScriptedClient(script("> one"), hold_loading=True)
    async with first_run(client) as pilot:
        await until(pilot, lambda: len(client.loaded) == 1)
        await pilot.press(*"tell me")
        await until(pilot, lambda: len(pilot.app.screen_stack) == 1)
        assert prompt(pilot).text == "tell me"
        await pilot.press("enter")
        client.go.set()
        await quiet(pilot)
        assert shown(pilot) == ["tell me", " one"]
    assert not is_first_run(Config())


async def test_a_fitting_pair_opens_its_details() -> None:
    async with first_run(ScriptedClient()) as pilot:
        await until(pilot, lambda: "this machine (" in words(pilot) or "This machine:" in words(pilot))
        text = words(pilot)
        if "For real work" not in text:
            pytest.skip("no known pair fits this machine")
        await until(pilot, lambda: "tok/s" in words(pilot))
        await pilot.press("down", "down")
        (row,) = (listing.chosen for listing in pilot.app.screen.query(Listing) if listing.highlighted is not None)
        assert row.pair, "the first pair is two rows below the first row"
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ModelsScreen))
        await until(pilot, lambda: row.pair.target in words(pilot))


async def test_the_last_rows_open_the_models_and_up_goes_to_them_directly() -> None:
    async with first_run(ScriptedClient()) as pilot:
        await pilot.press("up", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, ModelsScreen))
        await pilot.press("escape")
        await back_in_the_chat(pilot)
        assert screen(pilot).is_current


async def test_the_welcome_fits_a_small_screen_and_enter_starts_with_the_built_in_pair() -> None:
    async with first_run(ScriptedClient()) as pilot:
        await until(pilot, lambda: "this machine (" in words(pilot) or "This machine:" in words(pilot))
        await at_rest(pilot)
        panel = pilot.app.screen.query_one("#panel")
        last = pilot.app.screen.query_one("#last")
        assert last.region.bottom < panel.region.bottom <= 24
        await pilot.press("enter")
        await back_in_the_chat(pilot)
        assert pilot.app.screen.focused is prompt(pilot)


def marked(window: FirstRunScreen) -> list[str]:
    return [str(listing.id) for listing in window.query(Listing) if listing.highlighted is not None]


async def test_one_row_is_marked_also_once_the_pairs_are_known_and_after_a_resize() -> None:
    there = ComputeDevice(Machine((DeviceMemory("CPU", "cpu", 25 * 10**9, 25 * 10**9),)), 2, 25e9)
    known = suggestions(there, {})
    window = FirstRunScreen(lambda: True, lambda: Fitting(there.words, few(known)), lambda _text: None, lambda: None)
    async with SpecchatApp(chat_options(), ScriptedClient()).run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(window)
        await until(pilot, lambda: "For real work" in words(pilot))
        await at_rest(pilot)
        assert marked(window) == ["first"]
        await pilot.resize_terminal(100, 30)
        await at_rest(pilot)
        assert marked(window) == ["first"]


async def test_speeds_that_were_measured_on_a_busy_machine_say_so_and_fit() -> None:
    there = ComputeDevice(Machine((DeviceMemory("CPU", "cpu", 25 * 10**9, 25 * 10**9),)), 2, 25e9, disturbed=True)
    known = suggestions(there, {})
    fitting = Fitting(there.words, few(known), note(there, known))
    window = FirstRunScreen(lambda: True, lambda: fitting, lambda _text: None, lambda: None)
    async with SpecchatApp(chat_options(), ScriptedClient()).run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(window)
        await until(pilot, lambda: "For real work" in words(pilot))
        await at_rest(pilot)
        assert "Other programs use the CPU now" in words(pilot)
        assert window.query_one("#last").region.bottom < window.query_one("#panel").region.bottom <= 24


async def test_the_first_run_says_that_no_draft_gains_on_this_cpu_and_what_does() -> None:
    there = ComputeDevice(Machine((DeviceMemory("CPU", "cpu", 25 * 10**9, 25 * 10**9),)), 2, 25e9)
    known = suggestions(there, {})
    fitting = Fitting(there.words, few(known), note(there, known))
    window = FirstRunScreen(lambda: True, lambda: fitting, lambda _text: None, lambda: None)
    async with SpecchatApp(chat_options(), ScriptedClient()).run_test(size=(80, 24)) as pilot:
        await pilot.app.push_screen(window)
        await until(pilot, lambda: "For real work" in words(pilot))
        await at_rest(pilot)
        text = words(pilot)
        assert "No draft is known to gain on this CPU. Lookup does, on edits." in text
        rows = [row.rstrip() for row in text.splitlines() if "tok/s" in row]
        assert len(rows) == 3
        assert all(re.search(r"\d tok/s, up to \d+(\.\d)? for edits", row) for row in rows)
        assert window.query_one("#last").region.bottom < window.query_one("#panel").region.bottom <= 24
