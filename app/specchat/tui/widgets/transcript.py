"""The conversation, which follows its end only while the user is there."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widget import Widget

from specchat.tui.widgets.answer import Answer
from specchat.tui.widgets.bare import Bare, BareVertical
from specchat.tui.widgets.welcome import Welcome


class Transcript(VerticalScroll, Bare, can_focus=False):
    """Messages, answers and notices from top to bottom."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._entries = BareVertical()

    def compose(self) -> ComposeResult:
        """The entries, at least as high as what is seen: a short conversation stands at the top."""
        yield self._entries

    async def on_mount(self) -> None:
        """Greets, and stays at the end until the user scrolls."""
        await self.clear()

    async def clear(self) -> None:
        """An empty conversation."""
        await self._entries.remove_children()
        await self._entries.mount(Welcome())
        self.anchor()

    async def add(self, entry: Widget, *, follow: bool = False) -> None:
        """Adds an entry at the end; `follow` goes there, wherever the user was."""
        await self.query(Welcome).remove()
        await self._entries.mount(entry)
        if follow:
            self.anchor()

    def move(self, where: str) -> None:
        """Scrolls: page_up, page_down, home or end."""
        match where:
            case "page_up":
                self.scroll_page_up(animate=False)
            case "page_down":
                self.scroll_page_down(animate=False)
            case "home":
                self.scroll_home(animate=False)
            case "end":
                self.anchor()

    def answer_in_view(self) -> Answer | None:
        """The lowest answer of which something can be seen, else the latest."""
        answers = list(self.query(Answer))
        for answer in reversed(answers):
            if answer.region.overlaps(self.region):
                return answer
        return answers[-1] if answers else None
