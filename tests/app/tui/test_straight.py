"""What goes straight to the terminal is what composing the screen would have put there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from rich.console import RenderableType
from rich.segment import Segment
from textual._compositor import ChopsUpdate
from textual.app import App, ComposeResult
from textual.content import Content
from textual.screen import ModalScreen, Screen
from textual.widgets import Static

from app.tui.chatting import Chat, ask, chat, prompt, quiet
from app.tui.scripted_client import ScriptedClient, script
from specchat.tui.straight import RowsUpdate
from specchat.tui.widgets.dashboard import Dashboard
from specchat.tui.widgets.lines import Lines
from specchat.tui.widgets.transcript import Transcript
from specchat.worker.protocol import ChatMessage, Event

ROUND = " one two~ three~/ four/> five|> six|\n> seven"
Cells = list[tuple[str, str]]


def cells(segments: list[Segment]) -> Cells:
    """Each cell of a row with its looks; of a style only what can be seen."""
    return [
        (character, "" if segment.style is None else str(segment.style.without_color) + str(segment.style.color))
        for segment in segments
        for character in segment.text
    ]


def composed(screen: Screen[object]) -> list[Cells]:
    return [cells(list(strip)) for strip in screen._compositor.render_strips()]


class Terminal:
    """What a terminal would show: `rows` counts those that went straight to it, `wrong` tells which of them differed
    from the composed screen."""

    def __init__(self, screen: Screen[object]) -> None:
        self.rows = 0
        self.wrong: list[str] = []
        self._shown = composed(screen)

    def take(self, screen: Screen[object], update: object) -> None:
        now = composed(screen)
        if isinstance(update, RowsUpdate):
            for below, strip in update._rows:
                x, y = update._corner.x, update._corner.y + below
                drawn = cells(list(strip))
                self.rows += 1
                if drawn != now[y][x : x + len(drawn)]:
                    self.wrong.append(f"row {y}: {strip.text!r}")
                self._shown[y][x : x + len(drawn)] = drawn
        elif isinstance(update, ChopsUpdate):
            for y, first, last in update.spans:
                self._shown[y][first:last] = now[y][first:last]
        elif update is not None:
            self._shown = now

    def differs(self, screen: Screen[object]) -> list[str]:
        """The rows that would have to be drawn again."""
        both = zip(self._shown, composed(screen), strict=True)
        return ["".join(text for text, _ in shown) for shown, now in both if shown != now]


@contextmanager
def terminal(screen: Screen[object], monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    found, display = Terminal(screen), App._display

    def watched(app: App[object], screen: Screen[object], renderable: RenderableType | None) -> None:
        found.take(screen, renderable)
        display(app, screen, renderable)

    monkeypatch.setattr(App, "_display", watched)
    yield found


async def settled(pilot: Chat, seen: Terminal) -> None:
    """Waits until the terminal shows what composing all of the screen would draw; the scroll bar is the last."""
    for _ in range(40):
        await pilot.pause(0.05)
        if not seen.differs(pilot.app.screen):
            return
    assert seen.differs(pilot.app.screen) == []


class Unhurried(ScriptedClient):
    """Takes its time between two rounds, so that an answer is drawn in many steps."""

    def generate(self, messages: Sequence[ChatMessage], **asked: Any) -> Iterator[Event]:
        for event in super().generate(messages, **asked):
            time.sleep(0.01)
            yield event


@pytest.mark.parametrize("size", [(140, 40), (80, 24)])
async def test_an_answer_that_streams_and_scrolls_is_drawn_as_composing_draws_it(
    size: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Unhurried(script("|".join([ROUND] * 25)))
    async with chat(client, size) as pilot:
        screen = pilot.app.screen
        with terminal(screen, monkeypatch) as seen:
            await ask(pilot)
            await pilot.press("f3")
            await ask(pilot)
            await settled(pilot, seen)
            screen.query_one(Transcript).scroll_up(animate=False)
            await settled(pilot, seen)
            assert any("jump to end" in strip.text for strip in screen._compositor.render_strips())
        assert seen.rows > size[1]
        assert seen.wrong == []


async def test_what_a_window_covers_waits_for_it_to_be_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat(ScriptedClient(script(ROUND))) as pilot:
        await ask(pilot)
        pilot.app.push_screen(ModalScreen())
        await pilot.pause()
        screen = pilot.app.screen_stack[-2]
        with terminal(pilot.app.screen, monkeypatch) as seen:
            screen.query_one(Transcript).entries[-1].changed()
            screen.query_one(Dashboard).show_lines([Content("behind the window")])
            await pilot.pause()
        assert seen.rows == 0


async def test_what_a_menu_covers_is_composed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    async with chat(ScriptedClient(script(ROUND)), (80, 24)) as pilot:
        await ask(pilot)
        await pilot.press("/")
        await quiet(pilot)
        with terminal(pilot.app.screen, monkeypatch) as seen:
            pilot.app.screen.query_one(Transcript).refresh()
            pilot.app.screen.query_one(Transcript).entries[-1].changed()
            await pilot.pause()
            assert seen.differs(pilot.app.screen) == []
        assert seen.wrong == []
        prompt(pilot).clear()


class Notes(App[None]):
    """Lines in a frame, and something that may lie over their second row."""

    CSS = """
    Screen { layers: base over; }
    Lines { border: round red; width: 20; height: 6; }
    Static { layer: over; offset: 4 2; width: 5; height: 1; display: none; }
    """

    def compose(self) -> ComposeResult:
        yield Lines()
        yield Static("over")


async def test_only_rows_that_say_something_new_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    same, old, new = (Content.from_markup(f"[bold]{text}[/] text") for text in ("same", "old", "new"))
    app = Notes()
    async with app.run_test(size=(30, 10)) as pilot:
        lines = app.query_one(Lines)
        with terminal(app.screen, monkeypatch) as seen:
            lines.show_lines([same, old, same])
            await pilot.pause()
            first = seen.rows
            lines.show_lines([same, new, same])
            await pilot.pause()
            assert seen.rows == first + 1
            lines.show_lines([same])
            await pilot.pause()
            assert seen.rows == first + 3
            lines.show_lines([Content.from_markup("[italic]same[/] text")])
            await pilot.pause()
            assert seen.rows == first + 4
            assert seen.wrong == seen.differs(app.screen) == []
        assert [lines.render_line(y).text.rstrip() for y in range(4)] == ["same text", "", "", ""]


async def test_rows_under_something_else_are_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    app = Notes()
    async with app.run_test(size=(30, 10)) as pilot:
        lines = app.query_one(Lines)
        app.query_one(Static).display = True
        await pilot.pause()
        with terminal(app.screen, monkeypatch) as seen:
            lines.show_lines([Content("free"), Content("under something")])
            await pilot.pause()
            assert seen.rows == 0
            lines.show_lines([Content("free again"), lines._lines[1]])
            await pilot.pause()
            assert seen.rows == 1
        assert "over" in "".join(strip.text for strip in app.screen._compositor.render_strips())
