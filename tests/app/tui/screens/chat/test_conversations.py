import os
from dataclasses import replace
from pathlib import Path

from app.tui.chatting import (
    answers,
    ask,
    at_rest,
    chat,
    command,
    header,
    questions,
    quiet,
    seen,
    transcript,
    wait_until,
)
from app.tui.scripted_client import LOADED, ScriptedClient
from specchat.settings.paths import sessions_db
from specchat.store import Store, StoredMessage, ToolUse, new_id
from specchat.tui.screens.chat.conversations import MAX_SESSIONS, MIN_TOKENS, PromptCaches
from specchat.tui.screens.statistics import StatisticsScreen
from specchat.tui.transcript.tool_entry import ToolEntry
from specchat.tui.widgets.dashboard import Dashboard
from specchat_engine.load_options import MemoryUse
from specchat_engine.prompt.messages import ToolCall
from support.stored import begun, said


async def test_a_resumed_session_has_its_figures_before_the_models_are_loaded_and_goes_on_with_its_settings() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot)
        await command(pilot, "/k 3")
        figures, name = pilot.app.screen.query_one(Dashboard).view.figures, seen(pilot)[2]
    memory = MemoryUse(60_000_000, 4_000_000, 0, 0)
    client = ScriptedClient(hold_loading=True, load_events=(replace(LOADED, memory=memory),))
    async with chat(client, resumes=True) as pilot:
        await wait_until(lambda: len(answers(pilot)) == 1)
        await at_rest(pilot)
        assert name in seen(pilot)
        assert name.strip() != "answer"
        assert pilot.app.screen.query_one(Dashboard).view.figures == figures
        assert "ctx 0" not in header(pilot)
        await pilot.press("f7")
        await wait_until(lambda: isinstance(pilot.app.screen, StatisticsScreen))
        await pilot.press("escape")
        client.go.set()
        await quiet(pilot)
        assert pilot.app.screen.query_one(Dashboard).view.figures == figures, "and after they are loaded"
        assert pilot.app.screen.query_one(Dashboard).view.memory == memory
        await ask(pilot, "more")
        assert [message.content for message in client.asked[-1]] == ["Hi", " Hello there world", "more"]
        assert client.settings[-1].k == 3


async def test_a_new_conversation_shows_what_the_models_take() -> None:
    memory = MemoryUse(60_000_000, 4_000_000, 0, 0)
    async with chat(ScriptedClient(load_events=(replace(LOADED, memory=memory),))) as pilot:
        await pilot.press("ctrl+n")
        await quiet(pilot)
        assert pilot.app.screen.query_one(Dashboard).view.memory == memory


async def test_calls_of_a_stored_session_are_shown_with_their_results_and_sent_again() -> None:
    call = ToolCall("list_files", '{"in": "\x1b[2Jhome"}', "call00000")
    with Store.open(sessions_db()) as store:
        session = begun(store)
        question = said(store, session, "Which files?")
        answer = StoredMessage(new_id(), session, question, "assistant", "Let me see.", tools=ToolUse((call,)))
        of = ToolUse((), call.id, call.name)
        result = StoredMessage(new_id(), session, answer.id, "tool", "a\nb\nc\nd\ne", tools=of)
        for message in (answer, result):
            store.add_message(message)
        said(store, session, "Five.", result.id, role="assistant")
    client = ScriptedClient()
    async with chat(client, resumes=True) as pilot:
        assert len(questions(pilot)) == 1
        (entry,) = (entry for entry in transcript(pilot).entries if isinstance(entry, ToolEntry))
        assert entry.text == '▸ called list_files {"in": "\ufffd[2Jhome"}'
        entry.toggle()
        assert entry.text.endswith("result\na\nb\nc\nd\ne")
        assert entry.raw == "a\nb\nc\nd\ne"
        await ask(pilot, "Thanks")
        assert [message.role for message in client.asked[-1]] == ["user", "assistant", "tool", "assistant", "user"]
        assert client.asked[-1][1].tool_calls == (call,)


async def test_the_cache_of_a_long_session_is_restored_from_where_it_was_saved(tmp_path: Path) -> None:
    client = ScriptedClient()
    caches = PromptCaches(client, tmp_path)
    await caches.save(7, MIN_TOKENS - 1)
    await caches.restore(7)
    assert client.kept == client.recalled == []
    await caches.save(7, MIN_TOKENS)
    client.kept[0].mkdir(parents=True)
    await caches.restore(7)
    assert client.recalled == client.kept


async def test_only_the_caches_of_the_sessions_left_last_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "caches"
    caches = PromptCaches(ScriptedClient(), folder)
    for session in range(MAX_SESSIONS + 2):
        saved = folder / f"{session:016x}"
        saved.mkdir(parents=True)
        os.utime(saved, (session, session))
    await caches.save(MAX_SESSIONS + 1, MIN_TOKENS)
    assert sorted(int(path.name, 16) for path in folder.iterdir()) == list(range(2, MAX_SESSIONS + 2))
