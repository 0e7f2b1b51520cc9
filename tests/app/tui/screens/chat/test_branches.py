"""Another answer, another question, another session: by commands, as a user gives them."""

from pathlib import Path

import pytest

from app.tui.chatting import (
    Chat,
    answer,
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
    shown,
    transcript,
)
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.widgets.dashboard import Dashboard
from specchat.tui.widgets.key_row import KeyRow


async def test_another_answer_stands_beside_the_first_which_can_be_shown_again() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.rounds = script("> two")
        await command(pilot, "/regen")
        assert shown(pilot) == ["Who?", " two"]
        assert (answer(pilot).siblings.number, answer(pilot).siblings.count) == (2, 2)
        assert [asked[-1].content for asked in client.asked] == ["Who?", "Who?"]
        screen(pilot).turns.switch(answer(pilot).key, -1)  # type: ignore[arg-type]
        assert shown(pilot) == ["Who?", " one"]


async def test_an_edited_message_is_sent_in_place_of_the_first_but_not_what_is_being_written() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        prompt(pilot).write("New")
        for edit in (screen(pilot).turns.edit, screen(pilot).turns.edit_answer):
            edit()
            await pilot.pause()
            assert prompt(pilot).text == "New"
            assert "send or delete what you are writing first" in note(pilot)
        await command(pilot, "/edit")
        assert prompt(pilot).text == "Why?"
        await press(pilot, "backspace", "enter")
        assert shown(pilot) == ["Who?", " one", "Why", " one"]
        assert [message.content for message in client.asked[-1]] == ["Who?", " one", "Why"]


async def test_a_copy_of_the_session_goes_on_and_the_first_one_stays() -> None:
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        first = screen(pilot).state.session.conversation.id
        await command(pilot, "/branch")
        assert shown(pilot) == ["Who?", " one"]
        await ask(pilot, "Why?")
        await screen(pilot).conversations.open(first)
        assert shown(pilot) == ["Who?", " one"]


async def test_a_new_chat_is_empty_and_the_old_one_can_be_opened_again_from_the_list() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await press(pilot, "ctrl+n")
        assert shown(pilot) == []
        await ask(pilot, "Why?")
        await pilot.press("ctrl+o")
        await at_rest(pilot)
        await pilot.press(*"who")
        await at_rest(pilot, 0.4)
        await press(pilot, "enter")
        assert shown(pilot) == ["Who?", " one"]
        await ask(pilot, "More")
        assert [message.content for message in client.asked[-1]] == ["Who?", " one", "More"]


async def test_an_answer_that_is_left_for_another_session_is_kept_as_far_as_it_went() -> None:
    client = ScriptedClient(script("> one| two"), hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        first = screen(pilot).state.session.conversation.id
        await press(pilot, "ctrl+n")
        assert shown(pilot) == []
        client.hold_after = None
        await ask(pilot, "New")
        assert shown(pilot) == ["New", " one two"]
        assert [message.content for message in client.asked[-1]] == ["New"]
        await screen(pilot).conversations.open(first)
        assert shown(pilot) == ["Who?", " one"]
        assert answer(pilot).figures == "stopped"


async def test_commands_clear_the_conversation_and_turn_settings_at_once() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/clear")
        assert shown(pilot) == []
        assert "ctx 0/" in header(pilot)
        assert pilot.app.screen.query_one(Dashboard).view.figures.num_tokens == 0
        await command(pilot, "/temp 0.2")
        assert note(pilot) == "temperature is 0.20 from the next round on."
        await command(pilot, "/spec off")
        assert (client.settings[-1].sampling.temperature, client.settings[-1].k) == (0.2, 0)
        await command(pilot, "/preset greedy")
        assert client.settings[-1].sampling.temperature == 0
        await ask(pilot, "Why?")
        assert [message.content for message in client.asked[-1]] == ["Why?"]


async def test_nothing_changes_the_branch_while_an_answer_runs() -> None:
    client = ScriptedClient(script("> one| two"), hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        screen(pilot).turns.regenerate()
        screen(pilot).turns.go_on_from(None)
        screen(pilot).turns.edit()
        await pilot.pause()
        assert "Esc stops the answer first" in note(pilot)
        assert len(client.asked) == 1
        client.go.set()
        await quiet(pilot)
        assert not note(pilot), "a note about something that goes on ends with it"
        assert shown(pilot) == ["Who?", " one two"]


async def test_a_conversation_is_exported_under_its_title(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        for kind, ending in (("markdown", ".md"), ("html", ".html"), ("jsonl", ".jsonl")):
            await command(pilot, f"/export {kind}")
            assert (tmp_path / f"who{ending}").exists(), notices(pilot)
            assert "exported to" in notices(pilot)[-1]


async def test_an_answer_that_was_stopped_before_its_first_token_leaves_the_one_before_it(tmp_path: Path) -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        first = screen(pilot).state.session.conversation.id
        client.hold_after = 0
        screen(pilot).turns.regenerate()
        await press(pilot, "escape")
        assert shown(pilot) == ["Who?", " one"]
    async with chat(ScriptedClient()) as pilot:
        await screen(pilot).conversations.open(first)
        assert shown(pilot) == ["Who?", " one"]


async def test_a_question_that_is_left_before_its_first_token_is_given_back() -> None:
    client = ScriptedClient(script("> one"), hold_after=0)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await press(pilot, "ctrl+n")
        assert prompt(pilot).text == "Who?"
        assert shown(pilot) == []


async def test_a_message_that_waits_for_the_model_does_not_follow_into_another_session() -> None:
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        first = screen(pilot).state.session.conversation.id
    client = ScriptedClient(script("> two"), hold_loading=True)
    async with chat(client) as pilot:
        await ask(pilot, "Secret")
        await screen(pilot).conversations.open(first)
        client.go.set()
        await quiet(pilot)
        assert client.asked == []
        assert prompt(pilot).text == "Secret"
        assert shown(pilot) == ["Who?", " one"]


def keys_shown(pilot: Chat) -> str:
    row = pilot.app.screen.query_one(KeyRow)
    return "".join(segment.text for segment in row.render_line(0))


def rows_of(pilot: Chat, sign: str) -> list[str]:
    return [row for row in seen(pilot) if row.startswith(sign)]


async def test_the_selected_message_is_edited_and_marked_until_esc_leaves_it_as_it_was() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client, (80, 24)) as pilot:
        await ask(pilot, "Who?", "Why?")
        await pilot.press("tab", "up", "up", "up", "e")
        await pilot.pause()
        assert prompt(pilot).text == "Who?"
        assert [row.split() for row in rows_of(pilot, "»")] == [["»", "Who?"]]
        title = str(pilot.app.screen.query_one("#entry").border_title)
        assert title == f" {title.strip()} ", "a blank keeps it apart from the border"
        assert title.endswith("Esc leaves it as it was ")
        assert len(title) < 76, "it fits the narrowest usual terminal"
        assert "Leave as it was" in keys_shown(pilot)
        await pilot.press("escape")
        await pilot.pause()
        assert transcript(pilot).selected is None, "what is written now has nothing to do with the message"
        assert prompt(pilot).text == ""
        assert not rows_of(pilot, "»")
        assert "Leave as it was" not in keys_shown(pilot)
        assert not pilot.app.screen.query_one("#entry").border_title
        await ask(pilot, "More")
        assert shown(pilot) == ["Who?", " one", "Why?", " one", "More", " one"]


async def test_an_edited_message_stays_marked_when_the_rest_of_the_conversation_changes() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        await pilot.press("tab", "up", "up", "up", "e")
        await pilot.press("tab", "up", "up", "n")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one"]
        assert [row.split() for row in rows_of(pilot, "»")] == [["»", "Who?"]]


async def test_the_figures_are_those_of_the_version_that_is_shown() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        first = header(pilot)
        client.rounds = script("> two| three")
        await command(pilot, "/regen")
        dashboard = pilot.app.screen.query_one(Dashboard)
        assert dashboard.view.figures.num_rounds == 2
        await pilot.press("tab", "left")
        await quiet(pilot)
        assert dashboard.view.figures.num_rounds == 1
        assert header(pilot) == first
        await command(pilot, "/branch")
        assert dashboard.view.figures.num_rounds == 1
        assert header(pilot) == first


async def test_the_selection_stays_after_another_answer_and_another_version() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        client.rounds = script("> two")
        await press(pilot, "tab", "up", "up", "r")
        assert transcript(pilot).selected is answer(pilot)
        assert shown(pilot) == ["Who?", " two"]
        await press(pilot, "left")
        assert shown(pilot) == ["Who?", " one", "Why?", " one"]
        assert transcript(pilot).selected is answers(pilot)[0]
        await press(pilot, "right")
        assert shown(pilot) == ["Who?", " two"]
        assert transcript(pilot).selected is answer(pilot)
