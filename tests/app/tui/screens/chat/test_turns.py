from dataclasses import replace

import pytest

from app.tui.chatting import (
    answer,
    answers,
    ask,
    chat,
    command,
    figures,
    header,
    note,
    notices,
    press,
    prompt,
    questions,
    quiet,
    screen,
    seen,
    shown,
)
from app.tui.scripted_client import LOADED, ScriptedClient, Summarising, script
from specchat.engine_process.protocol import Loaded, TaskFailed
from specchat.settings.paths import sessions_db
from specchat.store.store import Store
from specchat.tui.app import SpecchatApp
from specchat.tui.transcript.answer import View
from specchat.tui.transcript.summary_entry import SummaryEntry
from specchat_engine.decoding.rounds import PromptProgress


async def test_an_answer_streams_as_a_trace_and_ends_as_markdown_with_its_figures() -> None:
    client = ScriptedClient(script("> The| **target**~ says~> decides."), hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        assert answer(pilot).live
        assert answer(pilot).view is View.TRACE
        client.go.set()
        await quiet(pilot)
        assert not answer(pilot).live
        assert answer(pilot).view is View.MARKDOWN
        assert seen(pilot)[1] == "▌ Who?", "a short conversation stands at the top"
        assert "  The target decides." in seen(pilot)
        assert answer(pilot).text == " The **target** decides."
        assert "tok/s · " in figures(pilot)
        assert "accepted 50 % · α 0.50" in figures(pilot)


async def test_a_long_prompt_shows_how_far_it_has_been_read_until_the_answer_begins() -> None:
    client = ScriptedClient(reading=PromptProgress(312, 1204, contended=True), hold_after=0)
    async with chat(client) as pilot:
        await ask(pilot)
        assert "reading 312 of 1,204 tokens: other programs keep the cores busy…" in " ".join(seen(pilot))
        client.go.set()
        await quiet(pilot)
        assert not any("reading" in row for row in seen(pilot))


async def test_an_answer_that_repeats_itself_is_named_below_with_the_key_that_stops_it() -> None:
    client = ScriptedClient(script("|".join("> on" for _ in range(250))), hold_after=200)
    async with chat(client) as pilot:
        await ask(pilot)
        assert figures(pilot) == "the answer repeats the same token: Esc stops it"
        await press(pilot, "escape")
        assert figures(pilot).startswith("stopped")
        assert "repeats the same token" in figures(pilot)


async def test_a_summary_is_shown_and_read_in_place_of_the_oldest_turns_also_when_the_session_is_opened_again() -> None:
    client = Summarising(summary="what was \x1b[31msaid")
    async with chat(client) as pilot:
        await ask(pilot, "One", "Two", "Three")
        assert notices(pilot)[-1].endswith("the context is nearly full")
        assert [row.strip() for row in seen(pilot) if "summary" in row] == [
            "▌ ▸ the model reads a summary in place of the oldest turns · 3 words"
        ]
        assert not any("what was" in row for row in seen(pilot))
        entries = screen(pilot).view.transcript.entries
        assert isinstance(entries[-2], SummaryEntry)
        await pilot.press("tab", "up", "o")
        assert any("what was " in row for row in seen(pilot))
        assert not any("\x1b" in row for row in seen(pilot))
        await pilot.press("escape")
        assert [shown(pilot)[0], len(shown(pilot))] == ["One", 6]
    async with chat(client, resumes=True) as pilot:
        assert sum("▸ the model reads a summary" in row for row in seen(pilot)) == 1
        await ask(pilot, "Four")
        read = [message.content for message in client.asked[-1]]
        assert read[0] == "Summary of the conversation so far:\nwhat was \x1b[31msaid"
        assert read[1] == "Two"
        assert read[-1] == "Four"


async def test_the_header_says_how_is_drafted_and_what_the_context_holds(gave_way: list[None]) -> None:
    client = ScriptedClient(script("> one| two> three"))
    async with chat(client) as pilot:
        assert "builtin-guide 18M ⇠ builtin-draft 2M" in header(pilot)
        assert "speculation ● active · hybrid · k auto" in header(pilot)
        assert "seed 7" in header(pilot)
        assert gave_way, "the drawing gives way to the engine once that runs"
        await ask(pilot)
        assert "ctx 23/1024" in header(pilot)
        assert client.settings[0].sampling.temperature == 0.7, "the model recommends it"
        await pilot.press(*["ctrl+down"] * 5)
        assert "○ off · k 0" in header(pilot)


@pytest.mark.parametrize(
    ("loaded", "head"),
    [
        (
            replace(LOADED, draft=None, drafters=("lookup", "none"), refusal="token 5 differs"),
            "✕ draft rejected (lookup, k auto): token 5 differs",
        ),
        (replace(LOADED, plain_because="it cannot forget"), "✕ not possible: it cannot forget"),
    ],
)
async def test_the_reason_why_nothing_or_less_is_drafted_is_named(loaded: Loaded, head: str) -> None:
    async with chat(ScriptedClient(load_events=(loaded,))) as pilot:
        assert head in header(pilot)
        assert head.rpartition(": ")[2] in notices(pilot)[0]


async def test_a_message_sent_while_the_model_loads_is_kept_if_the_app_dies_now() -> None:
    async with chat(ScriptedClient(hold_loading=True)) as pilot:
        await ask(pilot, "early")
        assert isinstance(pilot.app, SpecchatApp)
        pilot.app.keep_now()
    client = ScriptedClient()
    async with chat(client, resumes=True) as pilot:
        assert shown(pilot) == ["early", ""]
        assert "specchat ended" in figures(pilot)
        await ask(pilot, "more")
        assert [message.content for message in client.asked[0]] == ["early", "", "more"]


async def test_a_message_for_a_model_that_cannot_be_loaded_is_only_in_the_prompt() -> None:
    client = ScriptedClient(hold_loading=True, load_events=(TaskFailed("no such file: guide.gguf"),))
    async with chat(client) as pilot:
        await ask(pilot, "early")
        client.go.set()
        await quiet(pilot)
        assert prompt(pilot).text == "early"
    with Store.open(sessions_db()) as store:
        assert all(not store.messages(session.id) for session in store.sessions(9))


async def test_the_conversation_stays_as_it_is_while_a_message_waits_for_the_model() -> None:
    async with chat(ScriptedClient()) as pilot:
        await ask(pilot, "one")
    client = ScriptedClient(hold_loading=True)
    async with chat(client, resumes=True) as pilot:
        await ask(pilot, "two")
        await command(pilot, "/clear")
        assert "still loading" in note(pilot)
        assert shown(pilot) == ["one", " Hello there world", "two"]
        client.go.set()
        await quiet(pilot)
        assert shown(pilot) == ["one", " Hello there world", "two", " Hello there world"]


async def test_a_model_that_cannot_be_loaded_is_explained_and_a_message_tries_again() -> None:
    client = ScriptedClient(load_events=(TaskFailed("no such file: guide.gguf"),))
    async with chat(client) as pilot:
        assert "no such file: guide.gguf" in notices(pilot)[0]
        assert "Ctrl+Q" in notices(pilot)[0]
        client.load_events = (LOADED,)
        await ask(pilot, "again")
        await quiet(pilot)
        assert answer(pilot).text == " Hello there world"


async def test_a_dead_engine_leaves_the_conversation_and_says_what_happens_next() -> None:
    client = ScriptedClient(failure=TaskFailed("the engine was killed (SIGKILL)", died=True))
    async with chat(client) as pilot:
        await ask(pilot, "one")
        assert answer(pilot).text == " Hello there world"
        assert figures(pilot).startswith("the answer broke off")
        assert "SIGKILL" in notices(pilot)[0]
        assert "next message starts the engine again" in notices(pilot)[0]
        client.failure = None
        await ask(pilot, "two")
        assert [message.content for message in client.asked[-1]] == ["one", " Hello there world", "two"]
        assert answer(pilot).text == " Hello there world"
        assert not answer(pilot).live


async def test_a_message_without_an_answer_comes_back_into_the_prompt_and_shows_its_error_once() -> None:
    client = ScriptedClient(rounds=[], failure=TaskFailed("the prompt has 5000 tokens, the context 1024"))
    async with chat(client) as pilot:
        await ask(pilot, "long")
        for _ in range(3):
            assert prompt(pilot).text == "long"
            assert not [*questions(pilot), *answers(pilot)]
            await press(pilot, "enter")
        (error,) = notices(pilot)
        assert "5000 tokens" in error
        client.failure, client.rounds = None, script("> ok")
        await press(pilot, "enter")
        assert len(client.asked) == 5
        assert [message.content for message in client.asked[-1]] == ["long"]


async def test_markup_of_a_model_or_a_user_is_only_text() -> None:
    client = ScriptedClient(script("> [bold red]x[/]|> [@click=app.quit]y[/]|> z|> !"), hold_after=3)
    async with chat(client) as pilot:
        await ask(pilot, "[red]hi[/]")
        assert questions(pilot)[0].text == "[red]hi[/]"
        assert any(row.strip().startswith("[bold red]x[/] [@click") for row in seen(pilot))
        client.go.set()
        await quiet(pilot)
        drawn = "".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        drawn = " ".join(drawn.split())
        assert "[bold red]x[/] [@click=app.quit]y[/] z" in drawn, drawn[:600]


async def test_every_round_arrives_however_fast_they_come() -> None:
    rounds = script("|".join(f" a b c> {number}" for number in range(500)))
    async with chat(ScriptedClient(rounds)) as pilot:
        await ask(pilot)
        await quiet(pilot)
        assert answer(pilot).text == "".join(event.text for event in rounds)
