"""Events of the engine arrive at the screen in batches, in order, each of them once."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import App

from app.tui.chatting import wait_until
from app.tui.scripted_client import LOADED, ScriptedClient, chat_options
from specchat.engine_process.protocol import Event, Loaded, Loading
from specchat.tui.engine_link import EngineLink


class CountingClient(ScriptedClient):
    """Loads in many steps at once."""

    def load(self, *arguments: object) -> Iterator[Event]:
        for step in range(50):
            yield Loading(step / 50)
        yield LOADED


class LinkApp(App[None]):
    """Remembers what arrives."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[tuple[Event, ...]] = []

    def on_mount(self) -> None:
        self.link = EngineLink(CountingClient(), self.screen)

    def on_engine_link_arrived(self, message: EngineLink.Arrived) -> None:
        self.batches.append(message.events)


async def test_events_arrive_in_order_and_in_fewer_batches_than_there_are_events() -> None:
    app = LinkApp()
    async with app.run_test():
        app.link.load(chat_options())
        await wait_until(lambda: bool(app.batches) and isinstance(app.batches[-1][-1], Loaded))
        events = [event for batch in app.batches for event in batch]
        assert [event.progress for event in events if isinstance(event, Loading)] == [step / 50 for step in range(50)]
        assert events[-1] is LOADED
        assert len(app.batches) < 25


async def test_what_is_forgotten_never_arrives() -> None:
    app = LinkApp()
    async with app.run_test() as pilot:
        app.link.load(chat_options())
        app.link.forget()
        await pilot.app.workers.wait_for_complete()
        await pilot.pause(0.2)
        assert app.batches == []
        assert app.link.idle
