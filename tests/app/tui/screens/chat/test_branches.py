"""Another answer, another question, another session: by commands, as a user gives them."""

from pathlib import Path

import pytest

from app.tui.chatting import (
    Chat,
    answer,
    answers,
    ask,
    chat,
    command,
    header,
    note,
    notices,
    prompt,
    quiet,
    screen,
    seen,
    shown,
    transcript,
)
from app.tui.scripted_client import ScriptedClient, script
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


async def test_an_edited_message_is_sent_in_place_of_the_first_which_stays_beside_it() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        await command(pilot, "/edit")
        assert prompt(pilot).text == "Why?"
        await pilot.press("backspace", "enter")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one", "Why", " one"]
        assert [message.content for message in client.asked[-1]] == ["Who?", " one", "Why"]


async def test_what_is_being_written_is_not_sent_in_place_of_an_old_message() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        prompt(pilot).write("New")
        screen(pilot).turns.edit()
        assert prompt(pilot).text == "New"
        await pilot.pause()
        assert "send or delete what you are writing first" in note(pilot)
        await pilot.press("enter")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one", "New", " one"]


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
        await pilot.press("ctrl+n")
        await quiet(pilot)
        assert shown(pilot) == []
        await ask(pilot, "Why?")
        await pilot.press("ctrl+o")
        await pilot.pause(0.3)
        await pilot.press(*"who")
        await pilot.pause(0.5)
        await pilot.press("enter")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one"]
        await ask(pilot, "More")
        assert [message.content for message in client.asked[-1]] == ["Who?", " one", "More"]


async def test_a_session_is_there_after_a_new_start_with_the_settings_it_was_left_with() -> None:
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        first = screen(pilot).state.session.conversation.id
        await command(pilot, "/k 7")
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await screen(pilot).conversations.open(first)
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one"]
        assert "k 7" in header(pilot)


async def test_an_answer_that_is_left_for_another_session_is_kept_as_far_as_it_went() -> None:
    client = ScriptedClient(script("> one| two"), hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        first = screen(pilot).state.session.conversation.id
        await pilot.press("ctrl+n")
        client.go.set()
        await quiet(pilot)
        await screen(pilot).conversations.open(first)
        assert shown(pilot) == ["Who?", " one"]
        assert answer(pilot).figures == "stopped"


async def test_clearing_begins_anew_in_the_same_session() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/clear")
        assert shown(pilot) == []
        await ask(pilot, "Why?")
        assert [message.content for message in client.asked[-1]] == ["Why?"]


async def test_the_system_prompt_holds_from_the_next_message_on() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await command(pilot, "/system Be brief.")
        await ask(pilot, "Who?")
        assert (client.asked[-1][0].role, client.asked[-1][0].content) == ("system", "Be brief.")
        await command(pilot, "/system")
        assert "Be brief." in notices(pilot)[-1]


async def test_commands_turn_settings_at_once() -> None:
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/temp 0.2")
        await command(pilot, "/spec off")
        turned = screen(pilot).state.settings
        assert turned is not None
        assert (turned.sampling.temperature, turned.k) == (0.2, 0)
        await command(pilot, "/preset greedy")
        turned = screen(pilot).state.settings
        assert turned is not None
        assert turned.sampling.temperature == 0


async def test_the_sampling_of_now_is_kept_under_a_name_and_put_in_force_again() -> None:
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/temp 0.2")
        await command(pilot, "/preset save letters")
        assert "saved: /preset letters is temperature 0.2" in note(pilot)
        await command(pilot, "/preset greedy")
        await command(pilot, "/preset letters")
        turned = screen(pilot).state.settings
        assert turned is not None
        assert turned.sampling.temperature == 0.2
        await command(pilot, "/preset")
        assert "letters: temperature 0.2" in notices(pilot)[-1]
        await command(pilot, "/preset forget letters")
        await command(pilot, "/preset letters")
        assert "there is no preset letters" in note(pilot)


async def test_a_command_that_is_not_there_is_refused_in_one_line_and_stays_in_the_prompt() -> None:
    async with chat(ScriptedClient()) as pilot:
        await command(pilot, "/regenn")
        assert "/regen" in note(pilot)
        assert prompt(pilot).text == "/regenn"


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
        assert shown(pilot) == ["Who?", " one two"]


@pytest.mark.parametrize(("kind", "ending"), [("markdown", ".md"), ("html", ".html"), ("jsonl", ".jsonl")])
async def test_a_conversation_is_exported_under_its_title(
    kind: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with chat(ScriptedClient(script("> one"))) as pilot:
        await ask(pilot, "Who?")
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
        await pilot.press("escape")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one"]
    async with chat(ScriptedClient()) as pilot:
        await screen(pilot).conversations.open(first)
        assert shown(pilot) == ["Who?", " one"]


async def test_a_question_that_is_left_before_its_first_token_is_given_back() -> None:
    client = ScriptedClient(script("> one"), hold_after=0)
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press("ctrl+n")
        await quiet(pilot)
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


async def test_an_edit_is_given_up_by_emptying_the_prompt() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit")
        await pilot.press(*["backspace"] * len("Who?"))
        await ask(pilot, "Why?")
        assert shown(pilot) == ["Who?", " one", "Why?", " one"]


def keys_shown(pilot: Chat) -> str:
    row = pilot.app.screen.query_one(KeyRow)
    return "".join(segment.text for segment in row.render_line(0))


def rows_of(pilot: Chat, sign: str) -> list[str]:
    return [row for row in seen(pilot) if row.startswith(sign)]


@pytest.mark.parametrize("size", [(140, 40), (80, 24)])
async def test_the_selected_message_is_edited_and_marked_until_esc_leaves_it_as_it_was(size: tuple[int, int]) -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client, size) as pilot:
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


async def test_the_selection_stays_after_another_answer_and_another_version() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        client.rounds = script("> two")
        await pilot.press("tab", "up", "up", "r")
        await quiet(pilot)
        assert transcript(pilot).selected is answer(pilot)
        assert shown(pilot) == ["Who?", " two"]
        await pilot.press("left")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " one", "Why?", " one"]
        assert transcript(pilot).selected is answers(pilot)[0]
        await pilot.press("right")
        await quiet(pilot)
        assert shown(pilot) == ["Who?", " two"]
        assert transcript(pilot).selected is answer(pilot)
