"""A second conversation beside the first. One of the two is active: what is written goes there."""

from __future__ import annotations

from textual.screen import Screen

from specchat.chat.conversation import Conversation
from specchat.chat.session import new_conversation
from specchat.errors import SpecchatError
from specchat.store.store import Store
from specchat.terminal.filter import clean_line
from specchat.tui.screens.chat.conversations import Conversations
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.conversation_pane import ConversationPane
from specchat.tui.transcript.transcript import Transcript

LEAST_COLUMNS = 120
NEW, OFF = "new", "off"

_CLASS = "-beside"
"""The class of a screen that shows two conversations."""


class Beside:
    """Keeps the conversation that is not active, and its pane."""

    def __init__(self, screen: Screen[None], state: ChatState, view: ChatView, conversations: Conversations) -> None:
        self._screen = screen
        self._state = state
        self._view = view
        self._conversations = conversations
        self._other: Conversation | None = None
        self._pane: ConversationPane | None = None
        conversations.on_enter = self._entered

    @property
    def is_shown(self) -> bool:
        """Whether there are two conversations."""
        return self._other is not None

    @property
    def opened(self) -> dict[int, str]:
        """The sessions that are open, each with what closes it."""
        here, other = self._state.session.conversation, self._other
        return ({other.id: "/beside off closes it"} if other else {}) | {here.id: "start a new chat first (Ctrl+N)"}

    def renamed(self, session: int, title: str) -> None:
        """Takes the new title of a session that is open."""
        for conversation in (self._state.session.conversation, self._other):
            if conversation is not None and conversation.id == session:
                conversation.change(title=title)
        self.show_titles()

    async def show(self, what: str = "") -> None:
        """Shows the session that matches these words, the one that was used before this one, or a new one; or none."""
        if what == OFF:
            await self.close()
            return
        if (width := self._screen.size.width) < LEAST_COLUMNS:
            self._view.note(f"two conversations need {LEAST_COLUMNS} columns, this terminal has {width}")
            return
        try:
            conversation = await self._find(what)
        except SpecchatError as error:
            self._view.note(str(error))
            return
        if conversation is None:
            self._view.note("no other session has these words")
            return
        if self._pane is None:
            self._pane = ConversationPane(Transcript(), second=True)
            await self._screen.query_one("#middle").mount(self._pane, after=self._view.pane)
        self._other = conversation
        self._screen.add_class(_CLASS)
        self._pane.transcript.load(self._view.entries_of(conversation))
        self._show()
        self._screen.refresh_bindings()

    async def swap(self) -> None:
        """Makes the other conversation the active one, unless an answer streams or messages are queued."""
        other, pane = self._other, self._pane
        if other is None or pane is None:
            self._view.note("/beside shows a second conversation")
        elif self._state.outbox.messages:
            self._view.note("send or take back what is queued first")
        elif not self._view.is_busy():
            self._other, self._pane = self._state.session.conversation, self._view.pane
            self._view.use_pane(pane)
            await self._conversations.enter(other)

    async def close(self) -> None:
        """Shows the active conversation alone."""
        pane, self._pane, self._other = self._pane, None, None
        self._screen.remove_class(_CLASS)
        self._view.pane.stand_alone()
        self._view.pane.display = True
        self._screen.refresh_bindings()
        if pane is not None:
            await pane.remove()

    def fit(self) -> None:
        """Shows both panes if there is room, else only the active one."""
        if self._pane is not None:
            self._pane.display = self._screen.size.width >= LEAST_COLUMNS

    def show_titles(self) -> None:
        """Shows the titles, which change with the first message."""
        if self._other is not None and self._pane is not None:
            self._view.pane.show_title(_title(self._state.session.conversation), active=True)
            self._pane.show_title(_title(self._other), active=False)

    def _show(self) -> None:
        self._view.pane.display = True
        self.fit()
        self.show_titles()

    def _entered(self) -> None:
        """Follows the active conversation. One that is opened in both panes is shown once."""
        if self._other is not None and self._other.id == self._state.session.conversation.id:
            self._screen.run_worker(self.close(), group="beside")
        else:
            self._show()

    async def _find(self, what: str) -> Conversation | None:
        session, archive = self._state.session, self._state.archive
        here = session.conversation.id

        def matching(store: Store) -> list[int]:
            if not what:
                return [stored.id for stored in store.sessions(2)]
            return [hit.session.id for hit in store.search(what, limit=2)]

        if what != NEW:
            ids = [number for number in await archive.do(matching) if number != here]
            conversation = await archive.open(ids[0]) if ids else None
            if conversation is not None or what:
                return conversation
        return new_conversation(session.options)


def _title(conversation: Conversation) -> str:
    return clean_line(conversation.session.title or "a new conversation")
