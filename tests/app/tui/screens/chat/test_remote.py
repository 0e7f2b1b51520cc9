"""The chat with a server in place of the models of this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from textual.widgets import Static, TabbedContent

from app.remote.samples import VLLM, VLLM_PAGES, delta, models
from app.tui.chatting import Chat, answer, answers, ask, command, header, note, notices, press, quiet, wait_until
from app.tui.scripted_client import chat_options
from specchat.engine_process.protocol import Event, Generate
from specchat.remote.address import read_address
from specchat.remote.client import RemoteClient
from specchat.terminal.palette import word_of
from specchat.tui.app import SpecchatApp
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.transcript.body import View
from specchat.tui.widgets.load_knobs import LoadKnobs
from support.replaying import Replaying, Reply, page, recorded, replaying, stream

DRAFTED = VLLM / "draft-chat-stream-ids.txt"
TWO_MODELS = {"/v1/models": page(models("openai", "small", "large"))}


class Watched(RemoteClient):
    """A client that reports whether events are still to come, unless the server holds its answer."""

    def __init__(self, server: Replaying) -> None:
        super().__init__(read_address(server.url, key="sk-secret"))
        self._held = server.held
        self._events_to_come = False

    @property
    def idle(self) -> bool:
        return not self._events_to_come or self._held.is_set()

    def load(self, *given: Any) -> Iterator[Event]:
        yield from self._watched(super().load(*given))

    def generate(self, request: Generate) -> Iterator[Event]:
        self._events_to_come = True
        return self._watched(super().generate(request))

    def _watched(self, events: Iterator[Event]) -> Iterator[Event]:
        self._events_to_come = True
        yield from events
        self._events_to_come = False


@asynccontextmanager
async def chatting(
    pages: Mapping[str, Reply] = VLLM_PAGES, size: tuple[int, int] = (160, 40)
) -> AsyncIterator[tuple[Chat, Replaying]]:
    """A chat with a server that has these pages."""
    with replaying(pages=dict(pages)) as server:
        client = Watched(server)
        app = SpecchatApp(chat_options(target=client.first_target, draft=None), client)
        async with app.run_test(size=size) as pilot:
            await quiet(pilot)
            yield pilot, server


async def test_80_columns_are_enough_for_the_model_and_the_whole_host_beside_a_long_name() -> None:
    pages = {"/v1/models": page(models("vllm", "org/a-model-with-a-name-that-is-far-too-long-for-the-header"))}
    async with chatting(pages, (80, 24)) as (pilot, server):
        assert header(pilot).startswith("a-model-with-a-name-that-")
        assert f"… at {server.url.removeprefix('http://')}  ● as the server was started" in header(pilot)


async def test_the_header_names_the_server_whose_answers_have_the_rounds_that_it_counted_and_can_be_stopped() -> None:
    async with chatting() as (pilot, server):
        assert f"guide · vLLM at {server.url.removeprefix('http://')}" in header(pilot)
        assert "as the server was started" in header(pilot)
        server.replies.append(recorded(DRAFTED))
        await ask(pilot)
        said = answer(pilot)
        assert [word_of(event) for event in said.rounds][-2:] == ["●●●●◇", "●●○·"]
        assert "α 0.98" in said.figures
        assert "×? plain" in said.figures
        said.show(View.TRACE)
        assert "▯" in "".join(piece.text for rows in said.sections() for line in rows for piece in line.pieces)
        server.replies.append(recorded(VLLM / "draft-comp-stream.txt"))
        await ask(pilot)
        assert sum(len(event.drafted) for event in answer(pilot).rounds) == 60, "those that were shown are replaced"
        assert answer(pilot).text.startswith(" four five six one two")
        server.replies.append(stream(delta("Hello"), delta(" there"), hold_after=1))
        await ask(pilot)
        await wait_until(lambda: answer(pilot).text == "Hello")
        await press(pilot, "escape")
        assert server.left.wait(600), "the connection is closed"
        assert answer(pilot).text == "Hello"
        assert "stopped" in answer(pilot).figures


async def test_a_message_is_answered_again_and_edited_and_the_server_gets_the_conversation() -> None:
    async with chatting() as (pilot, server):
        for text in ("one", "two", "three"):
            server.replies.append(stream(delta(text, finish="stop")))
        await ask(pilot, "Hi")
        await command(pilot, "/regen")
        assert answer(pilot).text == "two"
        await ask(pilot, "More")
        first, again, more = server.questions
        assert first["messages"] == again["messages"] == [{"role": "user", "content": "Hi"}]
        assert first["seed"] != again["seed"]
        assert [message["content"] for message in more["messages"]] == ["Hi", "two", "More"]


async def test_the_models_of_the_server_are_listed_and_another_one_of_them_is_taken() -> None:
    async with chatting(TWO_MODELS) as (pilot, server):
        await pilot.press("f8")
        assert notices(pilot)[-1].splitlines()[1:] == [
            "• small",
            "  large",
            "/model NAME takes another one of them.",
        ]
        await command(pilot, "/model huge")
        assert "has no model huge: it has small, large" in " ".join(notices(pilot))
        assert "small · OpenAI API" in header(pilot)
        await command(pilot, "/model large")
        assert "large · OpenAI API" in header(pilot)
        server.replies.append(stream(delta("x", finish="stop")))
        await ask(pilot)
        assert server.questions[0]["model"] == "large"


async def test_what_needs_a_model_on_this_machine_is_one_sentence() -> None:
    async with chatting() as (pilot, server):
        server.replies.append(recorded(DRAFTED))
        await ask(pilot)
        for key, what in (("f4", "looking closer"), ("f5", "stepping"), ("f6", "comparing")):
            await press(pilot, key)
            assert what in note(pilot)
            assert "start specchat without --remote" in note(pilot)
            assert isinstance(pilot.app.screen, ChatScreen)
        for text in ("/set ctx-size 512", "/learn on", "/store", "/draft none", "/verify", "/race", "/tour"):
            await command(pilot, text)
            assert "without --remote" in note(pilot), text
        for edit in (command(pilot, "/edit answer"), press(pilot, "tab", "e")):
            await edit
            assert "a server does not go on from an edited answer" in note(pilot)
        await pilot.press("escape")
        await pilot.press("ctrl+up")
        assert "drafts as it was started" in note(pilot)
        assert not pilot.app.screen.query_one(LoadKnobs).display
        await press(pilot, "f7", "left")
        tabs = pilot.app.screen.query_one(TabbedContent)
        assert tabs.active == "learning"
        assert tabs.active_pane is not None
        shown = " ".join(str(tabs.active_pane.query_one(Static).render()).split())
        assert shown.startswith("Only draft models on this machine learn. vLLM at 127.0.0.1")
        assert shown.endswith("start specchat without --remote.")


async def test_a_server_that_cannot_be_reached_is_a_notice_and_a_message_tries_again() -> None:
    async with chatting({}) as (pilot, server):
        assert any("does not speak OpenAI's API" in text or "answers 404" in text for text in notices(pilot))
        server.pages |= VLLM_PAGES
        server.replies.append(stream(delta("x", finish="stop")))
        await ask(pilot)
        assert answer(pilot).text == "x"


async def test_an_error_of_the_server_keeps_the_message_in_the_prompt() -> None:
    async with chatting() as (pilot, server):
        server.replies.append(page({"error": {"message": "engine died sk-secret"}}, 500))
        await ask(pilot, "Hi")
        assert any("answers 500: engine died <key>" in text for text in notices(pilot))
        assert answers(pilot) == []


async def test_escape_sequences_of_a_server_do_not_reach_the_screen() -> None:
    async with chatting({"/v1/models": page(models("openai", "evil\x1b[2Jname"))}) as (pilot, server):
        server.replies.append(stream(delta("a\x1b]0;x\x07b", finish="stop")))
        await ask(pilot)
        assert "\x1b" not in answer(pilot).text + header(pilot)
