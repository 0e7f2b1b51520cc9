"""The app that watches a server: which answer it shows, what it counts, and what it says about the connection."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from textual.pilot import Pilot
from textual.widgets import Static

from app.remote.samples import server
from app.watching.samples import end, failure, made, start, state
from specchat.remote.address import read_address
from specchat.remote.servers import EngineKind
from specchat.settings.paths import sessions_db
from specchat.tui.screens.explain import ExplainScreen
from specchat.tui.screens.watch import Watched
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.body import View
from specchat.tui.transcript.entries import TranscriptNotice, UserMessage
from specchat.tui.watch_app import WatchApp
from specchat.tui.widgets.dashboard import Dashboard
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.prompt import PromptInput
from specchat.tui.widgets.watch_bar import WatchBar
from specchat.watching.client import WatchClient
from specchat.watching.events import Away, Connected, TurnedAway, WatchEvent, read_message

SERVER = server(EngineKind.SPECCHAT, draft="draft", version="0.1.0")

Watch = Pilot[None]


class Scripted(WatchClient):
    """A client that sends what the test says."""

    def __init__(self) -> None:
        super().__init__(read_address("host:8080", flag="--attach"))
        self._events: SimpleQueue[WatchEvent | None] = SimpleQueue()
        self.closed = False

    @property
    def idle(self) -> bool:
        """Whether everything was taken."""
        return self._events.empty()

    def send(self, *messages: Any) -> None:
        """Events, or lines as the server sends them."""
        for message in messages:
            event = read_message(message) if isinstance(message, dict) else message
            assert event is not None
            self._events.put(event)

    def events(self) -> Iterator[WatchEvent]:
        while (event := self._events.get()) is not None:
            yield event

    def close(self) -> None:
        self.closed = True
        self._events.put(None)
        super().close()


@asynccontextmanager
async def watching(*messages: Any, size: tuple[int, int] = (140, 40)) -> AsyncIterator[tuple[Watch, Scripted]]:
    """The app, connected, after these lines."""
    client = Scripted()
    client.send(Connected(SERVER), state(), *messages)
    async with WatchApp(client, SERVER).run_test(size=size) as pilot:
        await drawn(pilot, client)
        yield pilot, client


async def drawn(pilot: Watch, client: Scripted) -> None:
    """Waits until all that the client sent has been drawn."""
    await until(pilot, lambda: client.idle, times=6)


async def until(pilot: Watch, holds: Callable[[], bool], times: int = 1) -> None:
    """Waits until this holds so many times one after the other."""
    found = 0
    for _ in range(3600):
        await pilot.pause(0.05)
        found = found + 1 if holds() else 0
        if found == times:
            await pilot.pause()
            return
    raise AssertionError("it did not come")


def head(pilot: Watch) -> str:
    return str(pilot.app.screen.query_one("#head", Static).render())


def bar(pilot: Watch) -> str:
    return str(pilot.app.screen.query_one(WatchBar).render())


def entries(pilot: Watch) -> list[Any]:
    return pilot.app.screen.query_one(Watched).entries


def answers(pilot: Watch) -> list[TranscriptAnswer]:
    return [entry for entry in entries(pilot) if isinstance(entry, TranscriptAnswer)]


def questions(pilot: Watch) -> list[str]:
    return [entry.raw for entry in entries(pilot) if isinstance(entry, UserMessage)]


def notices(pilot: Watch) -> list[str]:
    return [entry.raw for entry in entries(pilot) if isinstance(entry, TranscriptNotice)]


def keys(pilot: Watch) -> str:
    return str(pilot.app.screen.query_one(KeyRow).render())


async def test_the_header_names_the_server_and_says_that_it_watches_and_nothing_can_be_typed() -> None:
    async with watching() as (pilot, client):
        assert head(pilot).startswith("watching host:8080   guide ⇠ draft")
        assert "nothing runs now" in bar(pilot)
        assert "Nothing can be asked here" in bar(pilot)
        assert "specchat chat --remote host:8080" in bar(pilot)
        assert not pilot.app.screen.query(PromptInput)
        await pilot.press(*"hello", "enter")
        assert questions(pilot) == []
        client.send(TurnedAway("host answers 403: watching is off here"))
        await drawn(pilot, client)
        assert bar(pilot).startswith("✕ host answers 403: watching is off here"), "a refusal stays"


async def test_a_live_request_is_a_turn_with_its_question_its_tokens_and_its_figures() -> None:
    async with watching(start(3, "Who?"), made(3, 0, "abc")) as (pilot, client):
        assert questions(pilot) == ["Who?"]
        (answer,) = answers(pilot)
        assert answer.live
        assert (answer.text, answer.view) == ("abc", View.TRACE)
        assert "ab?c" in "".join(piece.text for rows in answer.sections() for line in rows for piece in line.pieces)
        assert "following request 3" in bar(pilot)
        client.send(made(3, 1, "de"), end(3, "abcde"))
        await drawn(pilot, client)
        assert not answer.live
        assert (answer.raw, answer.view) == ("abcde", View.MARKDOWN)
        assert answer.figures == "50.0 tok/s · 1.50 × plain · accepted 60 % · α 0.60 · τ 2.5"
        panel = pilot.app.screen.query_one(Dashboard).render().plain
        assert "1.50 × plain" in panel
        assert "5 tokens in 2 rounds" in panel


async def test_one_of_several_is_followed_to_its_end_and_the_others_are_counted() -> None:
    async with watching(start(1, "First?"), start(2, "Second?"), start(3, "Third?"), made(2, 0)) as (pilot, client):
        assert questions(pilot) == ["First?"]
        assert "request 1 · 2 others run" in bar(pilot)
        client.send(end(3, "ab"), end(1, ""))
        await drawn(pilot, client)
        assert questions(pilot) == ["First?", "Second?"]
        assert answers(pilot)[-1].raw == "ab"
        assert bar(pilot).startswith("● following request 2\n")


async def test_n_follows_the_next_one_and_the_one_that_was_left_goes_on_above() -> None:
    async with watching(start(1, "First?"), made(1, 0), start(2, "Second?")) as (pilot, client):
        assert "n Next request" in keys(pilot)
        await pilot.press("n")
        client.send(made(1, 1), made(2, 0))
        await drawn(pilot, client)
        assert questions(pilot) == ["First?", "Second?"]
        assert [answer.raw for answer in answers(pilot)] == ["abab", "ab"]
        await pilot.press("n")
        await drawn(pilot, client)
        assert questions(pilot) == ["Second?", "First?"], "what is followed is at the end"
        client.send(end(2, "ab"))
        await drawn(pilot, client)
        assert [answer.live for answer in answers(pilot)] == [False, True]
        assert "n Next request" not in keys(pilot)


async def test_a_client_that_left_and_an_answer_that_failed_are_shown_below_the_answer() -> None:
    async with watching(start(1), made(1, 0), end(1, "ab", "cancelled")) as (pilot, client):
        assert answers(pilot)[-1].figures.startswith("stopped · ")
        client.send(start(2), made(2, 0), failure(2, "out of memory"), end(2, "ab", "error"))
        await drawn(pilot, client)
        assert answers(pilot)[-1].figures == "the answer failed: out of memory"


async def test_a_connection_that_breaks_ends_what_runs_is_reported_and_is_back_again() -> None:
    async with watching(start(1, "First?"), made(1, 0)) as (pilot, client):
        client.send(Away("the connection broke", 1.0), Away("it cannot be reached", 2.0))
        await drawn(pilot, client)
        assert "✕ it cannot be reached (trying again in 2 s)" in bar(pilot)
        assert notices(pilot)[1:] == ["✕ the connection broke"]
        (answer,) = answers(pilot)
        assert not answer.live
        assert answer.figures.startswith("its end was not reported")
        client.send(Connected(SERVER), state(1, lost=7), start(1, "Another?"), made(1, 0))
        await drawn(pilot, client)
        assert questions(pilot) == ["First?", "Another?"], "after a restart the numbers begin again"
        assert notices(pilot)[2] == "· connected again"
        assert "7 events came too fast" in notices(pilot)[3]
        assert "following request 1" in bar(pilot)


async def test_a_very_long_question_is_shortened_and_control_characters_are_not_drawn() -> None:
    async with watching(start(1, "x" * 100_000 + "\x1b[2J")) as (pilot, _):
        (question,) = questions(pilot)
        assert question.endswith("… and 98,804 more characters")
        assert "\x1b" not in question


async def test_the_figures_are_explained_also_on_a_narrow_screen() -> None:
    async with watching(start(1), made(1, 0), size=(80, 24)) as (pilot, client):
        await pilot.press("f9")
        await drawn(pilot, client)
        assert pilot.app.focused is not None
        assert pilot.app.focused.id == "panel"
        assert pilot.app.focused.size.width > 70
        for key in ("question_mark", "f12"):
            await pilot.press(key)
            await drawn(pilot, client)
            assert isinstance(pilot.app.screen, ExplainScreen), key
            assert "tokens in" in str(pilot.app.screen.query_one("#text", Static).render())
            await pilot.press("escape")
        await pilot.press("escape")
        assert pilot.app.focused is None
        await pilot.press("f3")
        assert answers(pilot)[0].view is not View.TRACE


async def test_leaving_closes_the_connection_and_nothing_was_stored(isolated_machine: Path) -> None:
    async with watching(start(1, "secret question"), made(1, 0), end(1, "ab")) as (pilot, client):
        await pilot.press("ctrl+q")
    assert client.closed
    assert not sessions_db().exists()
    kept = [file.read_bytes() for file in isolated_machine.rglob("*") if file.is_file()]
    assert not any(b"secret question" in content for content in kept)
