"""An answer is edited, and the model goes on from its end, beside the first one."""

from collections.abc import Iterator

import pytest

from app.tui.chatting import answer, answers, ask, chat, command, notices, press, prompt, screen, shown
from app.tui.scripted_client import ScriptedClient, script
from specchat.engine_process.protocol import Event, Generate, TaskFailed


async def test_the_prompt_gets_the_answer_and_the_model_goes_on_from_its_new_text() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.rounds = script("> two")
        await command(pilot, "/edit answer")
        assert prompt(pilot).text == " one"
        assert "goes on" in str(pilot.app.screen.query_one("#entry").border_title)
        await press(pilot, *"X", "enter")
        assert client.prefixes[-1] == "oneX"
        assert [message.content for message in client.asked[-1]] == ["Who?"]
        assert shown(pilot) == ["Who?", "oneX two"]
        assert (answer(pilot).siblings.number, answer(pilot).siblings.count) == (2, 2)
        assert not pilot.app.screen.query_one("#entry").border_title
        screen(pilot).turns.switch(answer(pilot).key, -1)  # type: ignore[arg-type]
        assert shown(pilot) == ["Who?", " one"]
        await command(pilot, "/edit answer It was")
        assert shown(pilot) == ["Who?", "It was two"]


async def test_the_key_edits_the_selected_answer_not_the_last_one() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?", "Why?")
        await press(pilot, "tab", "up", "up", "e", *"!", "enter")
        assert client.prefixes[-1] == "one!"
        assert [message.content for message in client.asked[-1]] == ["Who?"]


async def test_the_text_is_no_command_no_file_and_not_in_the_history() -> None:
    client = ScriptedClient(script("> /help"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer")
        await press(pilot, *" @none", "enter")
        assert client.prefixes[-1] == "/help @none"
        await pilot.press("up")
        assert prompt(pilot).text == "/edit answer"


async def test_an_emptied_prompt_or_a_new_chat_ends_the_editing() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        await command(pilot, "/edit answer")
        prompt(pilot).load_text("")
        await pilot.pause()
        await press(pilot, *"Why?", "enter")
        assert client.prefixes[-1] == ()
        assert shown(pilot) == ["Who?", " one", "Why?", " one"]
        await command(pilot, "/edit answer")
        await press(pilot, "ctrl+n")
        await press(pilot, "enter")
        assert client.prefixes[-1] == ()
        assert shown(pilot) == ["one", " one"]


class FailsAtOnce(ScriptedClient):
    """An engine that fails before an answer that is to begin with a text."""

    def _generated(self, request: Generate) -> Iterator[Event]:
        if request.prefix:
            self.busy = False
            yield TaskFailed("max tokens is 8")
        else:
            yield from super()._generated(request)


@pytest.mark.parametrize("kind", [ScriptedClient, FailsAtOnce])
async def test_an_engine_that_fails_keeps_the_edited_text(kind: type[ScriptedClient]) -> None:
    client = kind(script("> one"))
    async with chat(client) as pilot:
        await ask(pilot, "Who?")
        client.rounds, client.failure = [], TaskFailed("max tokens is 8")
        await command(pilot, "/edit answer It was")
        assert shown(pilot) == ["Who?", "It was"]
        assert answers(pilot)[0].siblings.count == 2
        assert "max tokens is 8" in notices(pilot)[-1]
        state = screen(pilot).state
        found = await state.archive.open(state.session.conversation.id)
        assert found is not None
        assert found.path()[-1].content == "It was"
