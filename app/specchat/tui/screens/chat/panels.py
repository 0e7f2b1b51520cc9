"""The panels beside the conversation, and the lists over it: knobs, figures, sessions, help."""

from __future__ import annotations

from collections.abc import Mapping

from textual.screen import Screen

from specchat.chat.knobs import live_knobs
from specchat.chat.server_limits import drafts_by_itself
from specchat.manual.sections import SectionAddress
from specchat.tui.keymap import written_key
from specchat.tui.screens.chat.beside import Beside
from specchat.tui.screens.chat.conversations import Conversations
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.answer import TranscriptAnswer


class Panels:
    """Shows and hides them.

    The screen's classes say which panels are shown: `-knobs` shows the knobs, `-no-figures` hides the figures. On a
    narrow screen, figures are shown only with the class `-figures`, over the conversation.
    """

    def __init__(
        self,
        screen: Screen[None],
        state: ChatState,
        view: ChatView,
        turns: TurnRunner,
        conversations: Conversations,
        beside: Beside,
        own_keys: Mapping[str, str],
    ) -> None:
        """`own_keys` are the keys that the user configured, by binding."""
        self._screen = screen
        self._state = state
        self._view = view
        self._turns = turns
        self._conversations = conversations
        self._beside = beside
        self._own_keys = own_keys

    async def toggle_knobs(self) -> None:
        """Shows or hides the knobs."""
        knobs = self._view.knobs
        knobs.display = not knobs.display
        self._screen.set_class(knobs.display, "-knobs")
        if knobs.display:
            await knobs.enter()
        else:
            self._view.prompt.focus()
        self._screen.refresh_bindings()

    def toggle_figures(self) -> None:
        """Explains the figures; hides them if they are explained already."""
        dashboard = self._view.dashboard
        hide = dashboard.has_focus
        self._screen.set_class(hide, "-no-figures")
        self._screen.set_class(not hide, "-figures")
        if hide:
            self._view.prompt.focus()
        else:
            self._screen.call_after_refresh(dashboard.focus)

    def leave_figures(self) -> None:
        """Goes back to the prompt; figures over the conversation go away."""
        self._screen.remove_class("-figures")
        self._view.prompt.focus()

    def cycle_view(self) -> None:
        """Shows the answer in view in another way. If it is still streaming, later answers stream that way too."""
        answer = self._view.transcript.answer_in_view()
        if answer is not None:
            view = answer.cycle_view()
            if answer.live:
                self._state.live_view = view

    def turn_k(self, steps: int) -> None:
        """Raises or lowers k from the next round on."""
        session = self._state.session
        if session.server is not None and not session.server.steered:
            self._view.note(drafts_by_itself(session.server))
        elif session.settings is not None:
            changed = live_knobs((), session.k_max)["k"].turned(session.settings, steps)
            self._turns.change_settings(changed)
            self._view.note(f"k {changed.k} from the next round on" if changed.k != 0 else "k 0: plain decoding")

    def show_help(self, about: str | None = None) -> None:
        """Opens the help at a command, or with a search for words: those given, or those that are offered now."""
        from specchat.tui.screens.help import HelpScreen

        self._screen.app.push_screen(HelpScreen(self._own_keys, about or self._state.docs_search))

    def offer_docs(self, entry: TranscriptAnswer, answer: int, text: str) -> None:
        """Offers a search of the docs below an answer in which the built-in guide says that it does not know."""
        if words := self._state.docs_words(text):
            self._state.docs_offer = (answer, words)
            key = written_key(self._own_keys.get("chat.help", "f1").partition(",")[0])
            entry.remark(f"{key} searches the docs for “{words}”")

    def read_docs(self, address: SectionAddress) -> None:
        """Opens a section of the documentation."""
        from specchat.tui.screens.help import HelpScreen

        self._screen.app.push_screen(HelpScreen(self._own_keys, place=address))

    def show_sessions(self, search: str = "") -> None:
        """Opens the list of the stored sessions."""
        # Imported here because the lists of the windows need numpy, which takes 0.2 s.
        from specchat.tui.screens.sessions import SessionsScreen

        async def chosen(session: int | None) -> None:
            if session is not None:
                await self._conversations.open(session)

        listed = SessionsScreen(self._state.archive, self._beside.opened, search, self._beside.renamed)
        self._screen.app.push_screen(listed, chosen)
