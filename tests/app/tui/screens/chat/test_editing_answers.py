"""An answer is edited, and the model goes on from its end, beside the first one."""

from collections.abc import Iterator
from dataclasses import replace

from app.tui.chatting import answer, answers, ask, chat, command, note, notices, prompt, quiet, screen, shown
from app.tui.scripted_client import LOADED, ScriptedClient, script
from specchat.engine_process.protocol import Event, Generate, ServerInfo, TaskFailed


async def test_the_prompt_gets_the_answer_and_the_model_goes_on_from_its_new_text() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.rounds = script("> two")
        await command(pilot, "/edit answer")
        assert prompt(pilot).text == " one"
        assert "goes on" in str(pilot.app.screen.query_one("#entry").border_title)
        await pilot.press(*"X", "enter")
        await quiet(pilot)
        assert client.prefixes[-1] == "oneX"
        assert [message.content for message in client.asked[-1]] == ["Who?"]
        assert shown(pilot) == ["Who?", "oneX two"]
        assert (answer(pilot).siblings.number, answer(pilot).siblings.count) == (2, 2)
        assert not pilot.app.screen.query_one("#entry").border_title
        screen(pilot).turns.switch(answer(pilot).key, -1)  # type: ignore[arg-type]
        assert shown(pilot) == ["Who?", " one"]


async def test_the_key_edits_the_selected_answer_not_the_last_one() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        await pilot.press("tab", "up", "up", "e", *"!", "enter")
        await quiet(pilot)
        assert client.prefixes[-1] == "one!"
        assert [message.content for message in client.asked[-1]] == ["Who?"]


async def test_the_text_is_no_command_no_file_and_not_in_the_history() -> None:
    client = ScriptedClient(script("> /help"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer")
        await pilot.press(*" @none", "enter")
        await quiet(pilot)
        assert client.prefixes[-1] == "/help @none"
        await pilot.press("up")
        assert prompt(pilot).text == "/edit answer"


async def test_a_text_with_the_command_goes_on_at_once() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer It was")
        assert shown(pilot) == ["Who?", "It was one"]


async def test_an_emptied_prompt_ends_the_editing() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer")
        prompt(pilot).load_text("")
        await pilot.pause()
        await pilot.press(*"Why?", "enter")
        await quiet(pilot)
        assert client.prefixes[-1] == ()
        assert shown(pilot) == ["Who?", " one", "Why?", " one"]


async def test_a_new_chat_does_not_take_the_text_as_that_of_an_answer() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer")
        await pilot.press("ctrl+n")
        await quiet(pilot)
        await pilot.press("enter")
        await quiet(pilot)
        assert client.prefixes[-1] == ()
        assert shown(pilot) == ["one", " one"]


async def test_what_is_being_written_is_not_overwritten() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await pilot.press(*"draft")
        screen(pilot).turns.edit_answer()
        assert prompt(pilot).text == "draft"
        await pilot.pause()
        assert "send or delete" in note(pilot)


async def test_an_engine_that_fails_keeps_the_edited_text() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.rounds, client.failure = [], TaskFailed("no memory")
        await command(pilot, "/edit answer It was")
        assert shown(pilot) == ["Who?", "It was"]
        assert answers(pilot)[0].siblings.count == 2
        state = screen(pilot).state
        found = await state.archive.open(state.session.conversation.id)
        assert found is not None
        assert found.path()[-1].content == "It was"


class FailsAtOnce(ScriptedClient):
    """An engine that fails before an answer that is to begin with a text."""

    def generate(self, request: Generate) -> Iterator[Event]:
        if request.prefix:
            yield TaskFailed("the answer is to begin with 9 tokens, max tokens is 8")
        else:
            yield from super().generate(request)


async def test_a_text_that_no_answer_can_begin_with_is_kept_too() -> None:
    async with chat(FailsAtOnce(script("> one"))) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer It was")
        assert shown(pilot) == ["Who?", "It was"]
        assert "max tokens is 8" in notices(pilot)[-1]
        state = screen(pilot).state
        found = await state.archive.open(state.session.conversation.id)
        assert found is not None
        assert found.path()[-1].content == "It was"


async def test_a_server_says_that_it_cannot() -> None:
    server = ServerInfo("vLLM", "host")
    client = ScriptedClient(script("> one"), load_events=(replace(LOADED, server=server),))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer")
        assert prompt(pilot).text == ""
        assert "a server does not go on from an edited answer" in note(pilot)
