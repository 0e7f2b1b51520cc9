"""The conversation, which follows its end only while the user is there."""

from __future__ import annotations

from collections.abc import Iterable

from textual.events import Click
from textual.strip import Strip

from specchat.terminal.pieces import OPEN_LINK, Clickable, Piece
from specchat.terminal.wrapping import Line
from specchat.tui.body import TOGGLE_THOUGHT
from specchat.tui.painting import CLICK
from specchat.tui.siblings import NEXT, PREVIOUS
from specchat.tui.straight import filtered
from specchat.tui.widgets.answer import Answer
from specchat.tui.widgets.entry import Entry
from specchat.tui.widgets.message_actions import MessageActions
from specchat.tui.widgets.selecting import Selecting
from specchat.tui.widgets.welcome import Welcome

_JUMP = "jump_to_end"


class Transcript(Selecting):
    """Messages, answers and notices from top to bottom."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._fill([Welcome()])

    async def clear(self) -> None:
        """An empty conversation."""
        await self.load(())

    async def load(self, entries: Iterable[Entry]) -> None:
        """Shows the end of a whole conversation; what lies above is laid out when somebody looks."""
        self.leave()
        self._fill(list(entries) or [Welcome()])
        self.follow()
        self.refresh()

    async def add(self, entry: Entry, *, follow: bool = False) -> None:
        """Adds an entry at the end; `follow` goes there, wherever the user was."""
        if any(isinstance(there, Welcome) for there in self.entries):
            self._fill([])
        before, unseen = self._stack.height, self._unseen
        entry.host = self
        self._stack.add([entry])
        self._following |= follow
        entry.changed()
        self._unseen = unseen + self._stack.height - before
        self._settle()
        self.refresh()

    def remove_entry(self, entry: Entry) -> None:
        """Takes an entry out."""
        if entry is self.selected:
            self.leave()
        super().remove_entry(entry)

    def move(self, where: str) -> None:
        """Scrolls: page_up, page_down, home or end."""
        match where:
            case "page_up":
                self.scroll_page_up(animate=False)
            case "page_down":
                self.scroll_page_down(animate=False)
            case "home":
                self.scroll_to(y=0, animate=False)
            case "end":
                self.follow()

    def answer_in_view(self) -> Answer | None:
        """The selected answer, else the lowest of which something can be seen, else the latest."""
        if isinstance(self.selected, Answer):
            return self.selected
        bottom = self._stack.at(self._row + self.size.height - 1)
        above = [entry for entry in self.entries[: bottom + 1] if isinstance(entry, Answer)]
        found = above or [entry for entry in self.entries if isinstance(entry, Answer)]
        return found[-1] if found else None

    def render_line(self, y: int) -> Strip:
        """One row of the viewport; the last one says that there is more below."""
        if y == self._covered:
            return filtered(self, self._painter.strip(self._hint(), self.size.width, -1))
        return super().render_line(y)

    @property
    def _covered(self) -> int | None:
        return None if self._following else self.size.height - 1

    def on_click(self, event: Click) -> None:
        """Does what stands under the pointer."""
        action, argument = event.style.meta.get(CLICK, ("", ""))
        entry = self._line(self._row + event.y)[0]
        if action == _JUMP:
            self.follow()
        elif action == OPEN_LINK:
            self.post_message(MessageActions.LinkClicked(argument))
        elif action == TOGGLE_THOUGHT and isinstance(entry, Answer):
            entry.toggle_thought(int(argument))
        elif action in (PREVIOUS, NEXT) and entry is not None:
            self.post_message(MessageActions.Sibling(entry, 1 if action == NEXT else -1))
        if action:
            event.stop()

    def _fill(self, entries: list[Entry]) -> None:
        for entry in self.entries:
            entry.host = None
        for entry in entries:
            entry.host = self
        self._stack.clear()
        self._stack.add(entries)
        self._strips.clear()
        self._unseen = 0
        self._read_at = (0, 0, None)

    def _hint(self) -> Line:
        """`↓ jump to end (End) · 12 new lines`; from the prompt the key is Ctrl+End."""
        key = "End" if self.has_focus else "Ctrl+End"
        lines = "line" if self.unseen == 1 else "lines"
        new = f" · {self.unseen:,} new {lines}" if self.unseen else ""
        text = Piece(f"↓ jump to end ({key}){new}", Clickable("bold $text-primary on $panel", _JUMP))
        return Line([text], prefix=(Piece("  ", "on $panel"),), ground="on $panel")
