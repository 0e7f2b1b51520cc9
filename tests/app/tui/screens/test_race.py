"""The race: the last prompt with and without speculation, recorded first and then played side by side."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from app.tui.chatting import Chat, ask, at_rest, chat, command, note, press, screen, shown, text_at, wait_until
from app.tui.scripted_client import ScriptedClient, script
from specchat.engine_process.protocol import TaskFailed
from specchat.traces.timeline import Race
from specchat.tui.screens.race import RaceScreen, lane_title, lead_line, most_lead, verdict_line
from specchat.tui.screens.replay import Played
from support.sample_traces import CAT, sample_trace

ROUNDS = script("> one| two three> four| five~bad~> six")


async def raced(pilot: Chat) -> None:
    """Wait for the lanes and go to the end."""
    await wait_until(lambda: len(pilot.app.screen.query(Played)) == 2)
    await at_rest(pilot)
    await pilot.press("end")
    await at_rest(pilot)


async def test_both_answers_use_the_last_answers_noise_and_leave_the_conversation_alone() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/regen")
        before, head = shown(pilot), screen(pilot).state.session.conversation.session
        stored = await screen(pilot).state.archive.do(lambda store: store.messages(head.id))
        await pilot.press("f6")
        await raced(pilot)
        assert [settings.k for settings in client.settings[-2:]] == [0, "auto"]
        assert [settings.drafter for settings in client.settings[-2:]] == ["none", "hybrid"]
        assert client.noises[-1] == client.noises[-2] == client.noises[-3]
        assert client.noises[-1] != client.noises[0]
        assert "texts equal" in text_at(pilot, "verdict")
        assert "6 tok" in text_at(pilot, "plain-title")
        await press(pilot, "escape")
        assert shown(pilot) == before
        assert screen(pilot).state.session.conversation.session == head
        assert await screen(pilot).state.archive.do(lambda store: store.messages(head.id)) == stored


async def test_escape_stops_the_recording_and_the_chat_continues() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.hold_after, client.go = 1, threading.Event()
        await pilot.press("f6")
        await wait_until(lambda: "Esc stops it" in text_at(pilot, "recording") and len(client.asked) == 2)
        await press(pilot, "escape")
        assert client.stopped
        client.hold_after = None
        await ask(pilot, "Why?")
        assert shown(pilot)[-1] == " one two three four five six"


async def test_the_verdict_names_the_first_difference_of_the_texts_or_a_failure_of_the_engine() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await pilot.press("f6")
        assert "no answer yet" in note(pilot)
        await ask(pilot, "Who?")
        client.variants = [script("> one| two> 2"), script("> one| two> 3")]
        await pilot.press("f6")
        await raced(pilot)
        assert "the texts differ from character 9" in text_at(pilot, "verdict")
        await press(pilot, "escape")
        client.failure = TaskFailed("no memory left")
        await pilot.press("f6")
        await wait_until(lambda: "no memory left" in text_at(pilot, "recording"))
        assert isinstance(pilot.app.screen, RaceScreen)


FAST, SLOW = sample_trace(step_ms=100.0), sample_trace(step_ms=200.0)


def test_the_bar_is_full_at_the_largest_lead_and_points_to_the_leader() -> None:
    race = Race.of(SLOW, FAST)
    most = most_lead(race)
    assert most == 6
    line = lead_line(race, 0.3, most, 100).plain
    assert line == "░" * 32 + "│" + "█" * 32 + "  speculative leads by 6 tokens"
    behind = lead_line(Race.of(FAST, SLOW), 0.3, most, 100).plain
    assert behind == "█" * 32 + "│" + "░" * 32 + "  plain leads by 6 tokens"
    assert "█" not in lead_line(race, 0.0, most, 100).plain


def test_at_the_end_the_bar_shows_by_how_much_the_faster_one_won() -> None:
    race = Race.of(SLOW, FAST)
    line = lead_line(race, race.duration, most_lead(race), 100).plain
    assert line.endswith("speculative won by 3 tokens")
    assert "█" in line


def test_a_clock_stops_when_its_answer_ends() -> None:
    race = Race.of(SLOW, FAST)
    assert "0:00.40 ■" in lane_title("speculative", race.speculative, 0.7, 80).plain
    assert "0:00.70 ▶" in lane_title("plain", race.plain, 0.7, 80).plain
    assert "8 tokens" in lane_title("plain", race.plain, 9.0, 80).plain


@pytest.mark.parametrize("width", [20, 38, 52, 120])
def test_every_row_fits(width: int) -> None:
    race = Race.of(SLOW, FAST)
    assert lane_title("speculative", race.speculative, 0.3, width).cell_length <= width
    assert lead_line(race, 0.3, most_lead(race), width).cell_length <= width


def test_the_verdict_says_who_was_faster_and_by_how_much() -> None:
    assert verdict_line(Race.of(SLOW, FAST)).plain.endswith("2.00 × as fast as plain")
    assert verdict_line(Race.of(SLOW, FAST)).plain.startswith("✓ texts equal")
    other = sample_trace((replace(CAT[0], token=replace(CAT[0].token, text="A")), *CAT[1:]))
    assert verdict_line(Race.of(SLOW, other)).plain.startswith("✕ the texts differ from character 0")
