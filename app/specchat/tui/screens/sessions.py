"""The stored sessions: search, open, rename, delete, restore."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.worker import Worker, WorkerCancelled

from specchat.chat.archive import Archive
from specchat.errors import SpecchatError
from specchat.store.records import StoredSession
from specchat.store.search import SearchHit
from specchat.store.store import Store
from specchat.store.tags import with_signs
from specchat.terminal.filter import clean_line
from specchat.terminal.pieces import MARKS
from specchat.tui.pace import Throttle
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.listing import Listing, marked
from specchat.tui.widgets.search_field import SearchField

_DAY = 24 * 3600
_WEEK = 7 * _DAY

PAGE = 100
"""The number of sessions read at a time."""

_TITLE = 20
"""The cells of a title that tags leave."""

_NEAR_THE_END = 20
_SEARCH_PAUSE = 0.12
_LOOK_AGAIN = 2.0
"""Seconds between checks for changes by another application."""

_PLACEHOLDER = "type to search titles and messages, or #tag"


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One session. `found` is the text around a match of the search, between marks."""

    session: StoredSession
    found: str = ""

    @classmethod
    def of(cls, hit: SearchHit) -> SessionRow:
        """The row of a search result."""
        return cls(hit.session, hit.snippet if hit.message is not None else "")

    @property
    def title(self) -> str:
        """The title on one line, or "untitled"."""
        return clean_line(self.session.title) or "untitled"

    def draw(self, width: int, now: float | None = None) -> Content:
        """Two lines of at most `width` cells."""
        session = self.session
        facts = f"{when(session.updated, time.time() if now is None else now)} · {counted(session.num_messages)}"
        tags = Content(f"  {clean_line(with_signs(session.tags))}" if session.tags else "")
        tags = tags.truncate(max(min(width // 3, width - len(facts) - _TITLE), 0), ellipsis=True)
        beside = len(facts) + tags.cell_length
        title = Content.styled(self.title, "bold").truncate(max(width - beside - 2, 8), ellipsis=True)
        gap = " " * max(width - title.cell_length - beside, 1)
        below = marked(self.found) if self.found else Content(clean_line(session.preview))
        below = below.truncate(width, ellipsis=True)
        return Content("\n").join(
            [Content.assemble(title, tags, gap, (facts, "$quiet")), below.stylize_before("$quiet")]
        )


class SessionsScreen(ModalScreen[int | None]):
    """A list over the chat. Its result is the session to open; None for no session."""

    CSS_PATH = "sessions.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "Open", id="sessions.open"),
        Binding("f2", "rename", "Rename", id="sessions.rename"),
        Binding("f8", "delete", "Delete", id="sessions.delete"),
        Binding("ctrl+z", "undo", "Undo", id="sessions.undo"),
        Binding("escape", "back", "Back", id="sessions.back"),
        Binding("up", "move('cursor_up')", "Up", show=False, id="sessions.move_cursor_up"),
        Binding("down", "move('cursor_down')", "Down", show=False, id="sessions.move_cursor_down"),
        Binding("pageup", "move('page_up')", "Page up", show=False, id="sessions.move_page_up"),
        Binding("pagedown", "move('page_down')", "Page down", show=False, id="sessions.move_page_down"),
    ]

    def __init__(
        self,
        archive: Archive,
        opened: Mapping[int, str] = MappingProxyType({}),
        search: str = "",
        renamed: Callable[[int, str], None] = lambda _session, _title: None,
    ) -> None:
        """`opened` are the sessions in the chat, which cannot be deleted, each with what closes it.

        `renamed` is called with a session and its new title.
        """
        super().__init__()
        self._archive = archive
        self._opened = opened
        self._begin_with = search
        self._renamed = renamed
        self._whole = False
        self._loading = False
        self._outdated = False
        self._renaming: SessionRow | None = None
        self._deleted: list[int] = []
        self._searching = Throttle(self, _SEARCH_PAUSE, self._search_typed)
        self._sought: str | None = None
        self._search_worker: Worker[None] | None = None

    def compose(self) -> ComposeResult:
        """The search above the list."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Sessions"
            yield SearchField(self._begin_with, placeholder=_PLACEHOLDER, catch_up=self._catch_up, id="search")
            yield Listing[SessionRow](lambda row, width: row.draw(width - 2), id="list")
            yield Static(id="says")
            yield KeyRow()

    def on_mount(self) -> None:
        """Read the first page."""
        self._list.can_focus = False
        self._search()
        self.set_timer(_LOOK_AGAIN, self._follow)

    def on_input_changed(self) -> None:
        """Search, but not at every key of fast typing."""
        self._searching.request()

    def on_option_list_option_highlighted(self, message: OptionList.OptionHighlighted) -> None:
        """Read more before the end is reached."""
        if message.option_index >= len(self._list.items) - _NEAR_THE_END and not (self._whole or self._loading):
            self._loading = True
            self.run_worker(self._load_more(), group="more", exclusive=True)

    def on_option_list_option_selected(self, message: OptionList.OptionSelected) -> None:
        """Open the session that was clicked."""
        self.dismiss(self._list.items[message.option_index].session.id)

    async def action_open(self) -> None:
        """Open the session, or save its new title."""
        if self._renaming is not None:
            await self._give_title(self._renaming, self.query_one(SearchField).value.strip())
        elif (row := self._list.chosen) is not None:
            self.dismiss(row.session.id)

    def action_back(self) -> None:
        """Keep the old title, or close the list."""
        if self._renaming is not None:
            self._end_renaming()
        else:
            self.dismiss(None)

    def action_move(self, how: str) -> None:
        """Move in the list. The keyboard stays in the search."""
        self._list.move(how)

    def action_rename(self) -> None:
        """Edit the title in place of the search."""
        row = self._list.chosen
        if row is None or self._renaming is not None:
            return
        self._renaming = row
        field = self.query_one(SearchField)
        self._begin_with = field.value
        field.value = row.session.title
        field.select_all()
        field.border_title = "New title"
        self._say("Enter saves this title, Esc keeps the old one")

    async def action_delete(self) -> None:
        """Delete the session. Ctrl+Z restores it."""
        row = self._list.chosen
        if row is None or self._renaming is not None:
            return
        if closes := self._opened.get(row.session.id):
            self._say(f"this session is open: {closes}")
            return
        if await self._done(lambda store: store.delete(row.session.id)):
            self._deleted.append(row.session.id)
            self._list.show([other for other in self._list.items if other is not row])
            self._say(f"deleted “{row.title}”, Ctrl+Z restores it")

    async def action_undo(self) -> None:
        """Restore the session that was deleted last."""
        if self._deleted and await self._done(lambda store: store.undo_delete(self._deleted[-1])):
            self._deleted.pop()
            self._say("restored")
            self._search()

    @property
    def _list(self) -> Listing[SessionRow]:
        return self.query_one("#list", Listing)

    def _search(self, *, followed: bool = False) -> None:
        self._sought = text = self.query_one(SearchField).value.strip()
        self._search_worker = self.run_worker(self._load(text, followed=followed), group="search", exclusive=True)

    def _search_typed(self) -> None:
        """Search, unless a title is being edited or the text was searched for already."""
        if self._renaming is None and self.query_one(SearchField).value.strip() != self._sought:
            self._search()

    async def _catch_up(self) -> None:
        """Return when the list shows what the text finds."""
        self._search_typed()
        with suppress(WorkerCancelled):
            if self._search_worker is not None:
                await self._search_worker.wait()

    @work
    async def _follow(self) -> None:
        """Read the list again if another application changed the store, and look again after a pause. While a title is
        edited the list stays.

        Nothing may cut a look off: the store reports a change once.
        """
        with suppress(SpecchatError):
            self._outdated |= await self._archive.do(lambda store: store.changed_elsewhere())
        if self._outdated and self._renaming is None:
            self._outdated = False
            self._search(followed=True)
        self.set_timer(_LOOK_AGAIN, self._follow)

    async def _load(self, text: str, *, followed: bool) -> None:
        """Read the first page or the matches. With `followed`, read as much as is shown and keep the choice."""
        most = max(PAGE, len(self._list.items)) if followed else PAGE

        def read(store: Store) -> tuple[list[SessionRow], int]:
            store.changed_elsewhere()  # Count changes from here: earlier ones are in the list.
            if text:
                hits = store.search(text, limit=PAGE, marks=MARKS)
                return [SessionRow.of(hit) for hit in hits], len(hits)
            return [SessionRow(session) for session in store.sessions(most)], store.num_sessions()

        try:
            rows, count = await self._archive.do(read)
        except SpecchatError as error:
            self._say(str(error))
            return
        chosen = self._list.chosen if followed else None
        self._whole = bool(text) or len(rows) < most
        ids = [row.session.id for row in rows]
        self._list.show(rows, ids.index(chosen.session.id) if chosen is not None and chosen.session.id in ids else None)
        more = "+" if text and count == PAGE else ""
        counted = f"{count:,}{more} found" if text else f"{count:,}"
        self.query_one("#panel").border_subtitle = f"{counted}, changed by another specchat" if followed else counted
        if not rows:
            self._say(f"nothing contains “{text}”" if text else "no sessions yet: your chats are stored here")

    async def _load_more(self) -> None:
        """Read the sessions below those that are shown, unless others are shown by then."""
        shown = self._list.items
        try:
            sessions = await self._archive.read(lambda store: store.sessions(PAGE, len(shown)))
        except SpecchatError as error:
            self._say(str(error))
            return
        finally:
            self._loading = False
        if self._list.items is shown:
            self._whole = len(sessions) < PAGE
            self._list.show([*shown, *(SessionRow(session) for session in sessions)])

    async def _give_title(self, row: SessionRow, title: str) -> None:
        if title and await self._done(lambda store: store.rename(row.session.id, title)):
            self._renamed(row.session.id, title)
            self._end_renaming()
            self._search()
        elif not title:
            self._say("the title is empty")

    def _end_renaming(self) -> None:
        self._renaming = None
        field = self.query_one(SearchField)
        field.value = self._begin_with
        field.border_title = None
        self._say("")

    async def _done(self, work: Callable[[Store], None]) -> bool:
        """Change the store. Returns False and shows the reason if that fails."""
        try:
            await self._archive.do(work)
        except SpecchatError as error:
            self._say(str(error))
            return False
        return True

    def _say(self, text: str) -> None:
        self.query_one("#says", Static).update(Content(text))


def counted(messages: int) -> str:
    """The number of messages in words."""
    return "1 message" if messages == 1 else f"{messages} messages"


def when(moment: float, now: float) -> str:
    """A local time in words: the time today, the weekday this week, else the date."""
    then, today = datetime.fromtimestamp(moment).astimezone(), datetime.fromtimestamp(now).astimezone()
    if then.date() == today.date():
        return then.strftime("%H:%M")
    if 0 <= now - moment < _WEEK:
        return then.strftime("%a %H:%M")
    return then.strftime("%Y-%m-%d")
