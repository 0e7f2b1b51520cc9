"""Shell commands in the chat: asked for, shown, attached, stopped. They are real."""

from pathlib import Path

import pytest

from app.tui.chatting import (
    Chat,
    answers,
    ask,
    chat,
    note,
    press,
    prompt,
    questions,
    quiet,
    screen,
    transcript,
    wait_until,
)
from app.tui.scripted_client import ScriptedClient
from specchat.tui.screens.question import ConsentScreen
from specchat.tui.transcript.command_entry import CommandEntry
from specchat.tui.widgets.outbox_bar import OutboxBar
from support.processes import is_gone


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


async def send(pilot: Chat, text: str) -> None:
    prompt(pilot).write(text)
    await pilot.press("enter")
    await pilot.pause()


async def ended(pilot: Chat) -> None:
    """Waits until no command runs, ten minutes at most."""
    await wait_until(lambda: not screen(pilot).shell.running)
    await quiet(pilot)


async def run(pilot: Chat, text: str, consent: str = "enter") -> None:
    await send(pilot, text)
    await pilot.press(consent)
    await ended(pilot)


def commands(pilot: Chat) -> list[str]:
    return [entry.text for entry in transcript(pilot).entries if isinstance(entry, CommandEntry)]


def outgoing(pilot: Chat) -> str:
    bar = pilot.app.screen.query_one(OutboxBar)
    return str(bar.render()) if bar.display else ""


async def test_a_command_runs_when_the_user_agrees_and_goes_with_the_next_message() -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await send(pilot, "!echo hello; exit 2")
        assert isinstance(pilot.app.screen, ConsentScreen)
        await pilot.press("enter")
        await ended(pilot)
        assert commands(pilot) == ["! echo hello; exit 2\nhello\nexit code 2 · goes with the next message"]
        assert "+ output of echo hello; exit 2: exit code 2, 1 line" in outgoing(pilot)
        await ask(pilot, "Why?")
        assert client.asked[0][0].content == "Why?\n\nOutput of `echo hello; exit 2` (exit code 2):\n\n```\nhello\n```"
        assert questions(pilot)[0].raw == "Why?\n[output of echo hello; exit 2: exit code 2, 1 line]"
        assert outgoing(pilot) == ""
        assert commands(pilot) == ["! echo hello; exit 2\nhello\nexit code 2 · went with your message"]
        await ask(pilot, "More")
        assert client.asked[1][-1].content == "More"
        assert commands(pilot) == ["! echo hello; exit 2\nhello\nexit code 2 · went with your message"]


async def test_an_output_that_is_dropped_or_queued_says_so() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await run(pilot, "!echo one", "a")
        await pilot.press("escape")
        await pilot.pause()
        assert commands(pilot)[-1].endswith("exit code 0 · was not sent")
        assert outgoing(pilot) == ""
        assert "not sent: output of echo one" in note(pilot)
        await ask(pilot, "Why?")
        assert client.asked[0][0].content == "Why?"
        await send(pilot, "!echo two")
        await ended(pilot)
        await send(pilot, "More")
        assert commands(pilot)[-1].endswith("exit code 0 · goes with the next message"), "it is queued"
        client.go.set()
        await quiet(pilot)
        assert commands(pilot)[-1].endswith("exit code 0 · went with your message")


async def test_a_command_that_the_user_refuses_does_not_run_and_two_marks_begin_a_message(tmp_path: Path) -> None:
    client = ScriptedClient()
    async with chat(client) as pilot:
        await run(pilot, "!touch made", "escape")
        assert not (tmp_path / "made").exists()
        assert prompt(pilot).text == "!touch made"
        assert commands(pilot) == []
        await send(pilot, "!!important")
        await quiet(pilot)
        assert client.asked[0][0].content == "!important"


async def test_consent_for_once_asks_again_and_consent_for_the_chat_does_not() -> None:
    async with chat(ScriptedClient()) as pilot:
        await run(pilot, "!echo one", "y")
        await run(pilot, "!echo two", "a")
        await send(pilot, "!echo three")
        await ended(pilot)
        assert [entry.splitlines()[1] for entry in commands(pilot)] == ["one", "two", "three"]
        await press(pilot, "ctrl+n")
        await send(pilot, "!echo four")
        assert isinstance(pilot.app.screen, ConsentScreen)


async def test_escape_stops_a_hanging_command_and_not_the_answer() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Hi")
        await send(pilot, "!echo begun; sleep 1000")
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("escape")
        await ended(pilot)
        assert "stopped" in commands(pilot)[0]
        assert answers(pilot)[0].live
        assert not client.stopped
        await press(pilot, "escape")
        assert client.stopped


async def test_a_long_output_shows_its_end_and_harms_nothing() -> None:
    async with chat(ScriptedClient(), size=(80, 24)) as pilot:
        await run(pilot, "!yes 'a line of some length' | head -c 3000000; printf '\\n\\033[2Jend'")
        shown = commands(pilot)[0].splitlines()
        assert len(shown) < 20
        assert "lines above" in shown[1]
        assert shown[-2] == "end"
        await ask(pilot, "still there?")
        assert answers(pilot)


async def test_a_queued_message_keeps_its_output_when_it_is_taken_back() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "one")
        await run(pilot, "!echo hello")
        await ask(pilot, "two")
        await pilot.press("up")
        assert "output of echo hello" in outgoing(pilot)
        await pilot.press("enter")
        client.go.set()
        await quiet(pilot)
        assert client.asked[1][-1].content.startswith("two\n\nOutput of `echo hello`")


async def test_a_command_ends_with_the_app(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    async with chat(ScriptedClient()) as pilot:
        await send(pilot, "!echo $$ > pid; exec sleep 1000")
        await pilot.press("enter")
        await wait_until(lambda: pid_file.exists() and pid_file.read_text() != "")
        process = int(pid_file.read_text())
        assert not is_gone(process)
    await wait_until(lambda: is_gone(process))


async def test_a_message_without_an_answer_comes_back_as_it_was_typed() -> None:
    client = ScriptedClient(hold_after=0)
    async with chat(client) as pilot:
        await run(pilot, "!echo hello")
        await ask(pilot, "Why?")
        await press(pilot, "escape")
        assert prompt(pilot).text == "Why?"
        assert "output of echo hello" in outgoing(pilot)
        await press(pilot, "enter")
        assert client.asked[1][0].content == client.asked[0][0].content
