"""Messages that are sent while an answer streams."""

from app.tui.chatting import Chat, answers, ask, chat, command, header, note, press, prompt, quiet, shown
from app.tui.scripted_client import LOADED, ScriptedClient
from specchat.engine_process.protocol import Loading, TaskFailed
from specchat.tui.widgets.outbox_bar import OutboxBar


def queued(pilot: Chat) -> list[str]:
    """The rows of the queue; empty if nothing is queued."""
    bar = pilot.app.screen.query_one(OutboxBar)
    return [bar.render_line(y).text.strip() for y in range(bar.size.height)] if bar.display else []


def said(pilot: Chat) -> list[str]:
    """What the transcript shows of the user."""
    return shown(pilot)[::2]


async def test_messages_that_are_sent_during_an_answer_follow_it_in_order() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "one", "two", "three")
        assert queued(pilot)[:2] == ["⋯ 1 two", "⋯ 2 three"]
        assert "sent when the answer ends" in queued(pilot)[2]
        assert said(pilot) == ["one"]
        assert prompt(pilot).text == ""
        await pilot.press(*"fo")
        client.go.set()
        await quiet(pilot)
        assert queued(pilot) == []
        assert prompt(pilot).text == "fo", "what is being written stays"
        assert said(pilot) == ["one", "two", "three"]
        assert [messages[-1].content for messages in client.asked] == ["one", "two", "three"]
        assert [len(messages) for messages in client.asked] == [1, 3, 5]


async def test_up_takes_the_last_queued_message_back_to_be_changed() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "one", "two", "three")
        await pilot.press("up")
        assert prompt(pilot).text == "three"
        assert queued(pilot)[0] == "⋯ 1 two"
        await pilot.press("up")
        assert prompt(pilot).text == "two"
        await pilot.press("down", *" more", "enter")
        client.go.set()
        await quiet(pilot)
        assert said(pilot) == ["one", "two", "three more"]


async def test_a_stopped_answer_holds_the_queue_until_enter_sends_it() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "one", "two", "three")
        await press(pilot, "escape")
        assert "held · Enter sends" in queued(pilot)[2]
        assert said(pilot) == ["one"]
        await ask(pilot, "now")
        assert said(pilot) == ["one", "now"]
        assert queued(pilot)[:2] == ["⋯ 1 two", "⋯ 2 three"]
        await press(pilot, "enter")
        assert said(pilot) == ["one", "now", "two", "three"]
        assert queued(pilot) == []


async def test_escape_takes_a_held_message_back_and_never_deletes_it() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "one", "two")
        await press(pilot, "escape")
        await pilot.press("escape")
        assert prompt(pilot).text == "two"
        assert queued(pilot) == []
        await pilot.press("escape")
        assert prompt(pilot).text == "two"


async def test_a_long_queue_shows_how_many_more_there_are() -> None:
    async with chat(ScriptedClient(hold_after=1), size=(80, 24)) as pilot:
        await ask(pilot, "one")
        for text in ("two", "three", "four", "five " * 40):
            prompt(pilot).write(text)
            await press(pilot, "enter")
        assert queued(pilot)[:3] == ["⋯ 1 two", "⋯ 2 three", "⋯ and 2 more"]
        await pilot.press("escape")


async def test_a_failed_answer_holds_the_queue() -> None:
    client = ScriptedClient(hold_after=1, failure=TaskFailed("out of memory"))
    async with chat(client) as pilot:
        await ask(pilot, "one", "two")
        client.go.set()
        await quiet(pilot)
        assert "held" in queued(pilot)[1]
        assert len(answers(pilot)) == 1


async def test_messages_queue_while_the_models_load() -> None:
    client = ScriptedClient(hold_loading=True, load_events=(Loading(0.5), LOADED))
    async with chat(client) as pilot:
        assert "loading" in header(pilot)
        await ask(pilot, "early", "next")
        assert queued(pilot)[0] == "⋯ 1 next"
        client.go.set()
        await quiet(pilot)
        assert said(pilot) == ["early", "next"]


async def test_another_conversation_does_not_get_the_queue() -> None:
    client = ScriptedClient(hold_after=1)
    async with chat(client) as pilot:
        await ask(pilot, "one", "two")
        await command(pilot, "/new")
        assert queued(pilot) == []
        assert "1 queued message not sent" in note(pilot)
        await pilot.press("up", "up")
        assert prompt(pilot).text == "two"
