"""A small app around a prompt, and what the tests of the prompt do and look at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from textual.app import App, ComposeResult
from textual.containers import Horizontal
from textual.events import Key, Paste
from textual.keys import key_to_character
from textual.pilot import Pilot
from textual.widgets import Input, Static

from app.tui.chatting import paste
from specchat.chat.controller import Sources
from specchat.chat.history import PromptHistory
from specchat.tui.appearance import outcome_variables
from specchat.tui.widgets.popup import Popup
from specchat.tui.widgets.prompt import PromptInput


class Host(App[None]):
    """Takes every message while it is not `busy`, once `go` is set, and remembers what it got."""

    CSS = """
    #above { height: 1fr; }
    #entry { height: auto; }
    PromptInput { height: auto; max-height: 6; border: none; padding: 0; }
    """

    def __init__(self, sources: Sources | None, history: PromptHistory | None) -> None:
        super().__init__()
        self._prompt = PromptInput(None if sources is None else lambda: sources, history)
        self.busy = False
        self.go = asyncio.Event()
        self.go.set()
        self.submitted: list[PromptInput.Submitted] = []
        self.commands: list[tuple[str, object]] = []
        self.refusals: list[str] = []
        self.pages: list[PromptInput.PagesNamed] = []

    def compose(self) -> ComposeResult:
        yield Static("", id="above")
        with Horizontal(id="entry"):
            yield self._prompt
        yield Input(id="elsewhere")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        return outcome_variables(dark=True)

    def on_mount(self) -> None:
        self._prompt.focus()

    async def on_prompt_input_submitted(self, message: PromptInput.Submitted) -> None:
        await self.go.wait()
        if not self.busy:
            self._prompt.taken()
            self.submitted.append(message)

    def on_prompt_input_commanded(self, message: PromptInput.Commanded) -> None:
        self.commands.append((message.invocation.command.name, message.invocation.value))

    def on_prompt_input_pages_named(self, message: PromptInput.PagesNamed) -> None:
        self.pages.append(message)

    def on_prompt_input_refused(self, message: PromptInput.Refused) -> None:
        self.refusals.append(message.reason)

    def action_copy_or_quit(self) -> None:
        self.refusals.append("copy or quit")


class Prompting:
    """A running host, in a user's words."""

    def __init__(self, host: Host, pilot: Pilot[None]) -> None:
        self.host = host
        self.pilot = pilot
        self.prompt = host.query_one(PromptInput)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def hurry(self, *keys: str | Paste) -> None:
        """All keys and pastes at once, before any of them was looked at."""
        for key in keys:
            if isinstance(key, str):
                self.host.post_message(Key(key, key if len(key) == 1 else key_to_character(key)))
            else:
                self.host.post_message(key)
        for _ in range(10):
            await asyncio.sleep(0.01)
        if self.host.go.is_set():
            await self.pilot.pause()

    async def paste(self, text: str) -> None:
        await paste(self.pilot, text)

    @property
    def text(self) -> str:
        return self.prompt.text

    @property
    def sent(self) -> list[str]:
        return [message.text for message in self.host.submitted]

    @property
    def popup(self) -> Popup:
        return self.host.screen.query_one(Popup)

    @property
    def offered(self) -> list[str]:
        """The rows of the popup, as they are drawn."""
        if not self.popup.display:
            return []
        return [row.rstrip() for row in str(self.popup.render()).split("\n")]


@asynccontextmanager
async def prompting(
    sources: Sources | None = None, history: PromptHistory | None = None, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Prompting]:
    host = Host(sources, history)
    async with host.run_test(size=size) as pilot:
        await pilot.pause()
        yield Prompting(host, pilot)


def sources_in(folder: Path) -> Sources:
    """The files of a folder, and two themes."""
    return Sources(folder=folder, themes=lambda: (("nord", "cool"), ("specchat-dark", "ours")))
