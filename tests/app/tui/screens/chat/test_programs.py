"""The message in the user's own editor, which is a real process here; `tests/e2e` gives it a real terminal."""

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from app.tui.chatting import Chat, answer, chat, note, press, prompt, quiet, wait_until
from app.tui.scripted_client import ScriptedClient
from specchat.tui.app import SpecchatApp


@pytest.fixture(autouse=True)
def terminal_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pilot has no terminal that could be given away."""
    monkeypatch.setattr(SpecchatApp, "suspend", lambda _: nullcontext())
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)


def editor(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    """Sets an editor that runs this code with the file as `file`."""
    program = f"import sys, pathlib; file = pathlib.Path(sys.argv[1]); {code}"
    monkeypatch.setenv("EDITOR", shlex.join([sys.executable, "-c", program]))


async def edit(pilot: Chat, *keys: str) -> None:
    await pilot.press(*(keys or ("ctrl+x", "ctrl+e")))
    await pilot.app.workers.wait_for_complete()
    await quiet(pilot)


async def test_the_editor_gets_the_message_in_full_and_gives_the_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "file.write_text(file.read_text().upper() + '\\nmo\\x1b[2Jre\\n')")
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"why")
        await edit(pilot)
        assert prompt(pilot).text == "WHY\nmo\ufffd[2Jre", "it controls no terminal"
        assert prompt(pilot).has_focus
        prompt(pilot).write("")
        prompt(pilot).paste("line\n" * 100)
        editor(monkeypatch, "file.write_text(str(len(file.read_text().splitlines())))")
        await edit(pilot, "alt+e")
        assert prompt(pilot).text == "100", "also of a long paste"


async def test_an_editor_that_fails_or_is_missing_is_one_line_and_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    editor(monkeypatch, "file.write_text('half'); sys.exit(3)")
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"why")
        await edit(pilot)
        assert "ended with exit code 3" in note(pilot)
        monkeypatch.setenv("VISUAL", "vi 'x")
        await edit(pilot)
        assert "close its quotes" in note(pilot)
        assert prompt(pilot).text == "why"


async def test_an_answer_goes_on_while_the_editor_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate_open = (
        f"import time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.02)\nfile.write_text('later')"
    )
    editor(monkeypatch, f"exec({gate_open!r})")
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await press(pilot, *"Hi", "enter")
        await pilot.press("ctrl+x", "ctrl+e")
        client.go.set()
        await wait_until(lambda: not answer(pilot).live)
        gate.touch()
        await pilot.app.workers.wait_for_complete()
        assert prompt(pilot).text == "later"


async def test_ctrl_x_cuts_a_selection_at_once_and_a_line_when_it_is_pressed_again() -> None:
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"one", "shift+home", "ctrl+x")
        assert prompt(pilot).text == ""
        await pilot.press(*"two", "ctrl+x")
        assert prompt(pilot).text == "two"
        await pilot.press("ctrl+x")
        assert prompt(pilot).text == ""
