"""The message in the user's own editor, which is a real process here; `tests/e2e` gives it a real terminal."""

import shlex
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from app.tui.chatting import Chat, answer, chat, note, prompt, quiet, wait_until
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


@pytest.mark.parametrize("keys", [("ctrl+x", "ctrl+e"), ("alt+e",)])
async def test_the_editor_gets_the_message_and_gives_the_new_one(
    monkeypatch: pytest.MonkeyPatch, keys: tuple[str, ...]
) -> None:
    editor(monkeypatch, "file.write_text(file.read_text().upper() + '\\nmore\\n')")
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"why")
        await edit(pilot, *keys)
        assert prompt(pilot).text == "WHY\nmore"
        assert prompt(pilot).has_focus


async def test_the_editor_gets_long_pastes_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "file.write_text(str(len(file.read_text().splitlines())))")
    async with chat(ScriptedClient()) as pilot:
        prompt(pilot).paste("line\n" * 100)
        await edit(pilot)
        assert prompt(pilot).text == "100"


async def test_the_file_is_private_and_removed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    told = tmp_path / "told"
    editor(
        monkeypatch,
        f"pathlib.Path({str(told)!r}).write_text("
        "f'{file} {file.stat().st_mode & 0o777:o} {file.parent.stat().st_mode & 0o777:o}'); file.write_text('x')",
    )
    async with chat(ScriptedClient()) as pilot:
        await edit(pilot)
        assert prompt(pilot).text == "x"
    path, file_mode, folder_mode = told.read_text().split()
    assert (file_mode, folder_mode) == ("600", "700")
    assert not Path(path).parent.exists()


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("sys.exit(3)", "ended with exit code 3"),
        ("file.write_text('half'); sys.exit(1)", "ended with exit code 1"),
        ("file.write_text(' \\n')", "left an empty file"),
        ("file.unlink()", "left no text"),
        ("file.write_bytes(b'\\xff\\xfe')", "left no text"),
        ("file.write_text('x' * 2_000_000)", "left more than 1 MiB"),
    ],
)
async def test_an_editor_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch, code: str, why: str) -> None:
    editor(monkeypatch, code)
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"why")
        await edit(pilot)
        assert prompt(pilot).text == "why"
        assert why in note(pilot)


@pytest.mark.parametrize(
    ("value", "why"),
    [(None, "set $VISUAL or $EDITOR"), ("/no/such/editor", "cannot be started"), ("vi 'x", "close its quotes")],
)
async def test_a_missing_editor_is_one_line(monkeypatch: pytest.MonkeyPatch, value: str | None, why: str) -> None:
    if value is not None:
        monkeypatch.setenv("VISUAL", value)
    else:
        monkeypatch.setenv("PATH", "")
    async with chat(ScriptedClient()) as pilot:
        await pilot.press(*"why")
        await edit(pilot)
        assert prompt(pilot).text == "why"
        assert why in note(pilot)


async def test_what_the_editor_leaves_controls_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    editor(monkeypatch, "file.write_text('a\\x1b[2Jb')")
    async with chat(ScriptedClient()) as pilot:
        await edit(pilot)
        assert "\x1b" not in prompt(pilot).text


async def test_an_answer_goes_on_while_the_editor_is_open(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    gate_open = (
        f"import time\nwhile not pathlib.Path({str(gate)!r}).exists(): time.sleep(0.02)\nfile.write_text('later')"
    )
    editor(monkeypatch, f"exec({gate_open!r})")
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await pilot.press(*"Hi", "enter")
        await quiet(pilot)
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
