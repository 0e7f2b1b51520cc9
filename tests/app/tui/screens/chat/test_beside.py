"""Two conversations side by side: one is active, and the other can be read."""

from __future__ import annotations

from app.tui.chatting import (
    Chat,
    answer,
    ask,
    at_rest,
    chat,
    command,
    header,
    note,
    press,
    prompt,
    quiet,
    screen,
    text_at,
)
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.conversation_pane import ConversationPane, PaneTitle
from specchat.tui.transcript.entries import UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.dashboard import Dashboard


def panes(pilot: Chat) -> list[list[str]]:
    """What each pane shows, from left to right."""
    found = [pane for pane in pilot.app.screen.query(ConversationPane) if pane.display]
    found.sort(key=lambda pane: pane.region.x)
    return [
        [entry.raw for entry in pane.query_one(Transcript).entries if isinstance(entry, UserMessage | TranscriptAnswer)]
        for pane in found
    ]


def titles(pilot: Chat) -> list[str]:
    found = sorted(pilot.app.screen.query(ConversationPane), key=lambda pane: pane.region.x)
    return [str(pane.query_one(PaneTitle).render()) for pane in found]


async def two(pilot: Chat, client: ScriptedClient) -> None:
    """Two conversations of one exchange each; the newer one is active."""
    await ask(pilot, "Fox?")
    await press(pilot, "ctrl+n")
    client.rounds = script("> two")
    await ask(pilot, "Lamp?")
    await command(pilot, "/beside")


async def test_the_last_session_is_shown_beside_and_what_is_written_goes_to_the_active_one() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await two(pilot, client)
        assert panes(pilot) == [["Lamp?", " two"], ["Fox?", " one"]]
        assert titles(pilot) == ["● Lamp?", "○ Fox?"]
        await ask(pilot, "More?")
        assert panes(pilot) == [["Lamp?", " two", "More?", " two"], ["Fox?", " one"]]
        await press(pilot, "f10")
        assert titles(pilot) == ["○ Lamp?", "● Fox?"]
        client.rounds = script("> three")
        await ask(pilot, "Why?")
        assert panes(pilot) == [["Lamp?", " two", "More?", " two"], ["Fox?", " one", "Why?", " three"]]
        assert [message.content for message in client.asked[-1]] == ["Fox?", " one", "Why?"]
        await press(pilot, "f10")
        await ask(pilot, "Oil?")
        assert [message.content for message in client.asked[-1]][:3] == ["Lamp?", " two", "More?"]
        archive = screen(pilot).state.archive
        stored = [await archive.open(one.id) for one in await archive.do(lambda store: store.sessions(5))]
        said = sorted([message.content for message in one.path()] for one in stored if one)
        assert said == [["Fox?", " one", "Why?", " three"], ["Lamp?", " two", "More?", " two", "Oil?", " three"]]


async def test_a_click_on_the_title_of_the_other_one_goes_there_and_so_do_the_keys_of_messages() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await two(pilot, client)
        other = max(pilot.app.screen.query(ConversationPane), key=lambda pane: pane.region.x)
        for expected in (["○ Lamp?", "● Fox?"], ["○ Lamp?", "● Fox?"]):  # the second click changes nothing
            await pilot.click(offset=(other.region.x + 5, other.region.y))
            await quiet(pilot)
            assert titles(pilot) == expected
        await press(pilot, "tab", "e")
        assert prompt(pilot).text == " one", "keys of messages are those of the active one"
        other = min(pilot.app.screen.query(Transcript), key=lambda found: found.region.x)
        other.post_message(Transcript.Request(other.entries[0], "edit"))
        await quiet(pilot)
        assert "the other conversation" in note(pilot)


async def test_words_choose_the_session_and_new_is_an_empty_one() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await two(pilot, client)
        await command(pilot, "/beside lamp")
        assert "no other session has these words" in note(pilot)
        await command(pilot, "/beside new")
        assert panes(pilot) == [["Lamp?", " two"], []]
        assert titles(pilot)[1] == "○ a new conversation"
        await command(pilot, "/beside fox")
        assert panes(pilot)[1] == ["Fox?", " one"]
        sessions = await screen(pilot).state.archive.do(lambda store: store.sessions(5))
        ids = {session.title: session.id for session in sessions}
        await screen(pilot).conversations.open(ids["Fox?"])
        await quiet(pilot)
        assert panes(pilot) == [["Fox?", " one"]], "it is shown once"
        await screen(pilot).conversations.open(ids["Lamp?"])
        await command(pilot, "/beside fox")
        await command(pilot, "/beside off")
        assert panes(pilot) == [["Lamp?", " two"]]
        assert not screen(pilot).beside.is_shown


async def test_the_figures_and_the_context_are_those_of_the_active_one() -> None:
    client = ScriptedClient(script("> one| more"))
    async with chat(client) as pilot:
        await ask(pilot, "Fox?")
        fox = header(pilot)
        await press(pilot, "ctrl+n")
        client.rounds = script("> two")
        await ask(pilot, "Lamp?")
        lamp = header(pilot)
        await command(pilot, "/beside")
        for rounds, expected in ((2, fox), (1, lamp)):
            await press(pilot, "f10")
            figures = pilot.app.screen.query_one(Dashboard).view
            assert figures.figures.num_rounds == len(figures.ribbon) == rounds
            assert header(pilot).split("seed")[0] == expected.split("seed")[0]


async def test_another_title_is_shown_at_once_and_stays() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await two(pilot, client)
        await command(pilot, "/title Oil")
        assert titles(pilot) == ["● Oil", "○ Fox?"]
        await pilot.press("ctrl+o")
        await at_rest(pilot)
        for renamed in ("Wick", "Hen"):
            await pilot.press("f2", *renamed, "enter")
            await at_rest(pilot)
            await pilot.press("down")
        await pilot.press("escape")
        await quiet(pilot)
        assert titles(pilot) == ["● Wick", "○ Hen"]
        await command(pilot, "/system Be brief.")
        await pilot.press("f10")
        await quiet(pilot)
        await command(pilot, "/system Be brief.")
        stored = await screen(pilot).state.archive.do(lambda store: store.sessions(5))
        assert sorted(one.title for one in stored) == ["Hen", "Wick"]


async def test_neither_of_two_open_conversations_is_deleted() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await two(pilot, client)
        await pilot.press("ctrl+o")
        await at_rest(pilot)
        for closes in ("start a new chat first (Ctrl+N)", "/beside off closes it"):
            await pilot.press("f8")
            await at_rest(pilot)
            assert text_at(pilot, "says") == f"this session is open: {closes}"
            await pilot.press("down")


async def test_an_answer_that_streams_is_not_left() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client) as pilot:
        await two(pilot, client)
        client.rounds, client.hold_after = script("> three| four"), 1
        await pilot.press(*"Hm?", "enter")
        await quiet(pilot)
        await pilot.press("f10")
        assert titles(pilot)[0] == "● Lamp?"
        assert "Esc stops the answer first" in note(pilot)
        client.go.set()
        await quiet(pilot)
        assert answer(pilot).raw.endswith("four")


async def test_a_narrow_terminal_shows_the_active_one_alone_and_says_how_many_columns_two_take() -> None:
    client = ScriptedClient(script("> one"))
    async with chat(client, (119, 40)) as pilot:
        await command(pilot, "/beside")
        assert "two conversations need 120 columns, this terminal has 119" in note(pilot)
        assert len(panes(pilot)) == 1
        await pilot.resize_terminal(120, 30)
        await quiet(pilot)
        await two(pilot, client)
        assert len(panes(pilot)) == 2
        await pilot.resize_terminal(90, 30)
        await quiet(pilot)
        assert panes(pilot) == [["Lamp?", " two"]]
        await press(pilot, "f10")
        assert panes(pilot) == [["Fox?", " one"]]
        await pilot.resize_terminal(140, 30)
        await quiet(pilot)
        assert len(panes(pilot)) == 2
