"""Tools in the chat: turned on, asked about, called, stopped. The servers are real."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from app.tui.chatting import (
    Chat,
    answers,
    ask,
    at_rest,
    chat,
    command,
    header,
    note,
    notices,
    press,
    prompt,
    quiet,
    screen,
    seen,
    transcript,
    wait_until,
)
from app.tui.scripted_client import LOADED, ScriptedClient, script
from specchat.engine_process.protocol import ServerInfo
from specchat.settings.paths import config_file
from specchat.store.records import ToolUse
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.tool_consent import ToolConsent
from specchat.tui.transcript.answer import View
from specchat.tui.transcript.tool_entry import ToolEntry
from specchat_assets import TARGET_NAME
from specchat_engine.prompt.messages import ToolCall
from support.faulty_mcp_server import COMMAND
from support.processes import running

SUM = ToolCall("calculate", '{"expression": "6 * 7"}', "call00000")
AGAIN = ToolCall("calculate", '{"expression": "2 + 2"}', "call00001")
BUILT_IN = "/tools on builtin"


@pytest.fixture(autouse=True)
def faulty_server(tmp_path: Path) -> None:
    """Declares the faulty server in config.toml, with a mark by which its process is found."""
    command = [*COMMAND, "well", str(tmp_path / "mark")]
    config_file().parent.mkdir(parents=True, exist_ok=True)
    config_file().write_text(f"[tools.faulty]\ncommand = {json.dumps(command)}\n")


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys count soon after a question opens."""
    monkeypatch.setattr(ToolConsent, "PAUSE", 0.02)


async def settled(pilot: Chat) -> None:
    """Waits until no call runs and no server starts, or until the user is asked; a minute at most."""
    await wait_until(lambda: not isinstance(pilot.app.screen, ChatScreen) or not screen(pilot).tools.running)
    await quiet(pilot)


async def use(pilot: Chat, text: str = BUILT_IN) -> None:
    await command(pilot, text)
    await settled(pilot)


async def asked(pilot: Chat, text: str = "Hi") -> ToolConsent:
    """Sends a message and waits until the user is asked about a call, and until keys count."""
    await ask(pilot, text)
    await wait_until(lambda: isinstance(pilot.app.screen, ToolConsent) and pilot.app.screen.accepts)
    await pilot.pause()
    assert isinstance(pilot.app.screen, ToolConsent)
    return pilot.app.screen


async def say(pilot: Chat, key: str) -> None:
    await pilot.press(key)
    await settled(pilot)


def calls(pilot: Chat) -> list[str]:
    return [entry.text.partition(" · ")[0] for entry in transcript(pilot).entries if isinstance(entry, ToolEntry)]


def roles(client: ScriptedClient) -> list[str]:
    return [message.role for message in client.asked[-1]]


async def test_a_call_that_is_allowed_is_made_and_the_model_reads_the_result() -> None:
    client = ScriptedClient(calls=[(SUM,)])
    async with chat(client) as pilot:
        await ask(pilot, "Before")
        await use(pilot)
        await asked(pilot, "What?")
        assert len(client.asked) == 2
        await say(pilot, "y")
        assert calls(pilot) == ['▸ called calculate {"expression": "6 * 7"} → 42']
        assert [len(offer.functions) for offer in client.offers] == [0, 2, 2]
        assert roles(client) == ["user", "assistant", "user", "assistant", "tool"]
        *_, answer, result = client.asked[-1]
        assert answer.tool_calls == (SUM,)
        assert (result.content, result.tool_call_id, result.name) == ("42", SUM.id, "calculate")
        assert len(answers(pilot)) == 3
        assert client.noises[2][1] == client.noises[1][1] + 1


async def test_the_question_shows_all_of_the_call_and_where_the_result_goes_and_quitting_ends_the_server(
    tmp_path: Path,
) -> None:
    call = ToolCall("faulty_echo", '{"text": "\\u001b[2Jhello"}', "call00000")
    loaded = replace(LOADED, server=ServerInfo("vLLM", "gpu.example:8000"))
    async with chat(ScriptedClient(load_events=(loaded,), calls=[(call,)])) as pilot:
        await use(pilot, "/tools on faulty")
        screen = await asked(pilot)
        rows = "\n".join(str(widget.render()) for widget in screen.query("Static"))
        assert "faulty_echo" in rows
        assert f"faulty: {sys.executable}" in rows
        assert 'text: "\\u001b[2Jhello"' in rows
        assert "the result goes to gpu.example:8000" in rows
        assert running(str(tmp_path / "mark"))
        await pilot.press("ctrl+q")
    await wait_until(lambda: not running(str(tmp_path / "mark")))


async def test_a_tool_that_is_allowed_in_the_chat_is_asked_about_again_only_in_another_one() -> None:
    client = ScriptedClient(calls=[(SUM, AGAIN), (), (SUM,)])
    async with chat(client) as pilot:
        await use(pilot)
        await asked(pilot)
        await say(pilot, "a")
        assert [text[-4:] for text in calls(pilot)] == ["→ 42", " → 4"]
        assert len(client.asked) == 2
        await press(pilot, "ctrl+n")
        await asked(pilot)
        await say(pilot, "n")
        assert client.asked[-1][-1].content == "the user did not allow this call"
        assert calls(pilot)[0].startswith("▸ ✕ not called: calculate")


async def test_keys_that_were_meant_for_the_prompt_allow_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ToolConsent, "PAUSE", 3600.0)
    client = ScriptedClient(hold_after=1, calls=[(SUM,)])
    async with chat(client) as pilot:
        await use(pilot)
        await ask(pilot, "Hi")
        prompt(pilot).write("What a n")
        client.go.set()
        await wait_until(lambda: isinstance(pilot.app.screen, ToolConsent))
        await pilot.press("a", "y", "enter", "n")
        assert isinstance(pilot.app.screen, ToolConsent)
        assert not pilot.app.screen.accepts
        assert len(client.asked) == 1


async def test_a_server_that_hangs_is_stopped_with_escape_and_the_answer_goes_on(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    hang = ToolCall("faulty_hang", f'{{"begun": "{begun}"}}', "call00000")
    client = ScriptedClient(calls=[(hang, SUM)])
    async with chat(client) as pilot:
        await use(pilot)
        await use(pilot, "/tools on faulty")
        await asked(pilot)
        await pilot.press("y")
        await wait_until(begun.exists)
        await ask(pilot, "Queued")
        assert len(client.asked) == 1
        await say(pilot, "escape")
        assert "the server faulty was stopped" in client.asked[1][-2].content
        assert "stopped the calls before" in client.asked[1][-1].content
        assert calls(pilot)[0].startswith("▸ ✕ failed: faulty_hang")
        await quiet(pilot)
        assert client.asked[2][-1].content == "Queued"


async def test_another_conversation_stops_the_call_and_the_first_one_can_go_on(tmp_path: Path) -> None:
    begun = tmp_path / "begun"
    hang = ToolCall("faulty_hang", f'{{"begun": "{begun}"}}', "call00000")
    client = ScriptedClient(calls=[(hang,)])
    async with chat(client) as pilot:
        await use(pilot, "/tools on faulty")
        await asked(pilot)
        await pilot.press("y")
        await wait_until(begun.exists)
        first = screen(pilot).state.session.conversation.id
        await pilot.press("ctrl+n")
        await settled(pilot)
        await ask(pilot, "New")
        assert roles(client) == ["user"]
        await screen(pilot).conversations.open(first)
        await quiet(pilot)
        await ask(pilot, "And?")
        assert roles(client) == ["user", "assistant", "tool", "user"]
        assert client.asked[-1][2].content == "this call was not made"


async def test_tools_are_listed_counted_in_the_header_and_read_ahead_with_what_is_written() -> None:
    client = ScriptedClient()
    async with chat(client, (100, 30)) as pilot:
        await command(pilot, "/tools")
        assert notices(pilot)[-1].splitlines()[1] == "builtin (part of specchat): off"
        assert "tools" not in header(pilot)
        await use(pilot, "/tools on nothing")
        assert "there is no server 'nothing' in config.toml" in notices(pilot)[-1]
        await use(pilot, "/tools on builtin")
        assert notices(pilot)[-1] == "· builtin (part of specchat): current_time, calculate"
        assert "tools 2" in header(pilot)
        await pilot.press("H", "i")
        await at_rest(pilot, 0.4)
        assert len(client.prepared_offers[-1].functions) == 2
        await use(pilot, "/tools off builtin")
        assert notices(pilot)[-1] == "· builtin (part of specchat): off"
        assert "tools" not in header(pilot)


async def test_an_answer_with_calls_shows_the_rest_of_its_text_and_its_calls_in_the_trace() -> None:
    client = ScriptedClient(rounds=script("> Let| me>see| there>[call]"), calls=[(SUM,)])
    async with chat(client) as pilot:
        await use(pilot)
        await asked(pilot)
        await say(pilot, "y")
        first, _ = answers(pilot)
        assert first.text == first.raw == " Let"
        first.show(View.TRACE)
        await pilot.pause()
        assert any("Let mesee there[call]" in row for row in seen(pilot))
        first.show(View.MARKDOWN)
        await pilot.pause()
        assert not any("mesee there[call]" in row for row in seen(pilot)[:8])


async def test_a_call_is_unfolded_copied_exported_and_there_when_the_stored_chat_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "sums.md"
    async with chat(ScriptedClient(calls=[(SUM,)])) as pilot:
        await use(pilot)
        await asked(pilot)
        await say(pilot, "y")
        made = calls(pilot)
        transcript(pilot).focus()
        await pilot.press("up", "o")
        rows = [row.strip() for row in seen(pilot)]
        assert any(row.startswith("█ ▾ called calculate") for row in rows)
        assert "█ ▏ 42" in rows
        await pilot.press("o")
        assert "█ ▏ 42" not in [row.strip() for row in seen(pilot)]
        await command(pilot, f"/export markdown {path}")
        await command(pilot, "/copy chat")
        assert note(pilot).startswith("chat ")
    text = path.read_text()
    assert "Calls `calculate` with:" in text
    assert '{"expression": "6 * 7"}' in text
    assert "## Result of calculate\n\n```text\n42\n```" in text
    client = ScriptedClient()
    async with chat(client, resumes=True) as pilot:
        assert calls(pilot) == made
        await command(pilot, "/regen")
        assert roles(client) == ["user", "assistant", "tool"]
        assert answers(pilot)[-1].siblings.count == 2


async def test_branches_before_and_after_a_call_are_switched() -> None:
    client = ScriptedClient(calls=[(SUM,)])
    async with chat(client) as pilot:
        await use(pilot)
        await asked(pilot, "One")
        await say(pilot, "y")
        conversation = screen(pilot).state.session.conversation
        question, answer, result, last = conversation.path()
        assert result.tools is not None
        assert result.tools.seconds >= 0
        assert result.tools == ToolUse((), SUM.id, "calculate", seconds=result.tools.seconds)
        screen(pilot).turns.answer_again(answer.id)
        await quiet(pilot)
        assert roles(client) == ["user"]
        assert calls(pilot) == []
        screen(pilot).turns.switch(conversation.path()[1].id, 1)
        await pilot.pause()
        assert [message.id for message in conversation.path()] == [question.id, answer.id, result.id, last.id]
        assert len(calls(pilot)) == 1


async def test_only_a_named_file_is_read_and_only_in_this_chat(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("remember")
    (tmp_path / "secret.txt").write_text("secret")
    named = ToolCall("read_file", '{"path": "notes.txt"}', "call00000")
    other = ToolCall("read_file", '{"path": "secret.txt"}', "call00001")
    client = ScriptedClient(calls=[(named, other)])
    async with chat(client) as pilot:
        await command(pilot, "/tools file missing.txt")
        assert not screen(pilot).state.tools.files
        await command(pilot, "/tools file notes.txt")
        await asked(pilot)
        await say(pilot, "a")
        *_, read, refused = client.asked[-1]
        assert read.content == "remember"
        assert "is none of the files that may be read" in refused.content
        await press(pilot, "ctrl+n")
        await ask(pilot, "Hi")
        assert [tool["function"]["name"] for tool in client.offers[-1].functions] == ["current_time", "calculate"]


async def test_the_built_in_guide_says_once_that_it_never_learned_tools_and_does_not_get_them() -> None:
    client = ScriptedClient()
    async with chat(client, target=TARGET_NAME) as pilot:
        for text in (BUILT_IN, "/tools off builtin", BUILT_IN):
            await use(pilot, text)
        assert sum("never learned to call tools" in text for text in notices(pilot)) == 1
        await ask(pilot, "How do I quit?")
        assert "Ctrl+Q" in client.asked[-1][-1].content
