"""The last prompt plain and speculative: recorded first, then run against each other."""

import threading

from textual.widgets import Static

from app.tui.chatting import Chat, ask, chat, command, header, parts, quiet, shown
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.screens.playing import Played
from specchat.tui.screens.race import RaceScreen
from specchat.worker.protocol import WorkerFailed

ROUNDS = script("> one| two three> four| five~bad~> six")


async def raced(pilot: Chat) -> None:
    """Waits until the lanes are there, and goes to the end."""
    for _ in range(100):
        await pilot.pause(0.1)
        if len(pilot.app.screen.query(Played)) == 2:
            break
    await pilot.pause(0.1)
    await pilot.press("end")
    await pilot.pause(0.2)


def row(pilot: Chat, name: str) -> str:
    return str(pilot.app.screen.query_one(f"#{name}", Static).render())


async def test_both_answers_run_with_the_last_answers_noise_and_the_conversation_stays_as_it_is() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/regen")
        before, head = shown(pilot), parts(pilot).state.session.conversation.session
        stored = await parts(pilot).state.archive.do(lambda store: store.messages(head.id))
        await pilot.press("f6")
        await raced(pilot)
        assert [settings.k for settings in client.settings[-2:]] == [0, "auto"]
        assert [settings.drafter for settings in client.settings[-2:]] == ["none", "hybrid"]
        assert client.noises[-1] == client.noises[-2] == client.noises[-3]
        assert client.noises[-1] != client.noises[0]
        assert "texts equal" in row(pilot, "verdict")
        assert "6 tok" in row(pilot, "plain-title")
        await pilot.press("escape")
        await quiet(pilot)
        assert shown(pilot) == before
        assert parts(pilot).state.session.conversation.session == head
        assert await parts(pilot).state.archive.do(lambda store: store.messages(head.id)) == stored


async def test_esc_stops_the_recording_and_the_chat_goes_on() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.hold_after, client.go = 1, threading.Event()
        await pilot.press("f6")
        await quiet(pilot)
        assert "Esc stops it" in row(pilot, "recording")
        await pilot.press("escape")
        await quiet(pilot)
        assert client.stopped
        assert len(client.asked) == 2
        client.hold_after = None
        await ask(pilot, "Why?")
        assert shown(pilot)[-1] == " one two three four five six"


async def test_texts_that_differ_are_told_at_the_place_where_they_do() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.variants = [script("> one| two> 2"), script("> one| two> 3")]
        await pilot.press("f6")
        await raced(pilot)
        assert "the texts part at character 9" in row(pilot, "verdict")


async def test_an_engine_that_fails_says_so_in_the_window() -> None:
    client = ScriptedClient(ROUNDS)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.failure = WorkerFailed("no memory left")
        await pilot.press("f6")
        await pilot.pause(0.5)
        assert isinstance(pilot.app.screen, RaceScreen)
        assert "no memory left" in row(pilot, "recording")


async def test_without_an_answer_there_is_nothing_to_race() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press("f6")
        assert "no answer yet" in header(pilot)
