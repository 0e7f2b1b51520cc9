"""The widgets of the chat. Every note and notice of the chat is shown here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.widgets import Static

from specchat.chat.controller import STILL_LOADING, Sources
from specchat.chat.conversation import Conversation
from specchat.chat.history import PromptHistory
from specchat.remote.limits import needs_this_machine
from specchat.stats.line import ending_in
from specchat.stats.turn import TurnView
from specchat.store.records import StoredMessage, ToolUse
from specchat.tui.appearance import legend_line
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.command_entry import CommandEntry
from specchat.tui.transcript.conversation_pane import ConversationPane
from specchat.tui.transcript.entries import Siblings, TranscriptEntry, TranscriptNotice, UserMessage
from specchat.tui.transcript.summary_entry import SummaryEntry
from specchat.tui.transcript.tool_entry import ToolEntry
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.dashboard import Dashboard, DashboardRow
from specchat.tui.widgets.download_bar import DownloadBar, LazyDownloads
from specchat.tui.widgets.header import Header
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.load_knobs import LoadKnobs
from specchat.tui.widgets.note_bar import NoteBar
from specchat.tui.widgets.outbox_bar import OutboxBar
from specchat.tui.widgets.prompt import PromptInput
from specchat.tui.widgets.step_bar import StepBar, TourBar
from specchat_engine.load_options import MemoryUse


class ChatView:
    """Makes the widgets and shows the chat's state in them."""

    def __init__(
        self, state: ChatState, sources: Callable[[], Sources], history: PromptHistory, downloads: LazyDownloads
    ) -> None:
        self._state = state
        self.header = Header(state.session.header())
        self.transcript = Transcript(id="transcript")
        self.pane = ConversationPane(self.transcript)
        self.dashboard = Dashboard(id="dashboard")
        self.dashboard_row = DashboardRow(id="row")
        self.knobs = Knobs(id="knobs")
        self.load_knobs = LoadKnobs(state.session.options)
        self.download_bar = DownloadBar(downloads)
        self.step_bar = StepBar()
        self.tour_bar = TourBar()
        self.note_bar = NoteBar()
        self.outbox_bar = OutboxBar()
        self.prompt = PromptInput(sources, history)
        self._entry_row = Horizontal(id="entry")
        self._mode = self._editing = ""
        self._passing = False
        self._figures = TurnView()

    def compose(self) -> ComposeResult:
        """Rows from top to bottom; the side panel is beside the transcript if there is room."""
        yield self.header
        with Horizontal(id="middle"):
            yield self.pane
            with Vertical(id="side"):
                yield self.dashboard
                with Vertical(id="turned"):
                    yield self.knobs
                    yield self.load_knobs
        yield self.dashboard_row
        yield self.download_bar
        yield self.step_bar
        yield self.tour_bar
        yield self.note_bar
        yield self.outbox_bar
        with self._entry_row:
            yield Static("›", id="sign")
            yield self.prompt
        with Horizontal(id="keys"):
            yield KeyRow()
            yield Static(legend_line(), id="legend")

    def use_pane(self, pane: ConversationPane) -> None:
        """Shows the conversation in this pane from now on."""
        self.pane, self.transcript = pane, pane.transcript

    def show_mode(self, mode: str) -> None:
        """Shows the mode of vi's keys in the border of the prompt."""
        self._mode = mode
        self._show_above_prompt()

    def show_editing(self, what: str, message: int) -> None:
        """Says in the border of the prompt what becomes of this message's text in it, and marks the message."""
        self._editing = f"{what} · Esc leaves it as it was"
        self.transcript.leave()
        self.transcript.mark_edited(self._entry_of(message))
        self._show_above_prompt()
        self.prompt.refresh_bindings()

    def end_editing(self) -> None:
        """Shows that the prompt holds a new message."""
        self._editing = ""
        self.transcript.mark_edited(None)
        self._show_above_prompt()
        self.prompt.refresh_bindings()

    def select(self, message: int) -> None:
        """Selects the entry that shows this message."""
        self.transcript.select(self._entry_of(message))

    def note(self, text: str, *, passing: bool = False) -> None:
        """Shows a text above the prompt until the next key; a `passing` one also ends with what it is about."""
        self._passing = passing
        self.note_bar.show(text)

    def end_passing(self) -> None:
        """Hides a passing note, because what it is about has ended."""
        if self._passing:
            self.note("")

    def notice(self, text: str, *, failure: bool = False) -> None:
        """Adds a notice to the transcript, where it stays. The same one is not repeated directly."""
        notice, entries = TranscriptNotice(text, failure=failure), self.transcript.entries
        if entries and isinstance(entries[-1], TranscriptNotice) and entries[-1].text == notice.text:
            self.transcript.follow()
        else:
            self.transcript.add(notice)

    def is_busy(self) -> bool:
        """Whether an answer is being written, waits for the models, or calls tools; if so, a note says so."""
        if self._state.turn is not None:
            self.note("Esc stops the answer first", passing=True)
        elif self._state.calling:
            self.note("Esc stops the call first", passing=True)
        elif self._state.waiting is not None:
            self.note(STILL_LOADING, passing=True)
        return self._state.busy

    def needs_local(self, what: str) -> bool:
        """Whether a server answers, which cannot do this; if so, a note says so."""
        remote = self._state.session.server is not None
        if remote:
            self.note(needs_this_machine(what))
        return remote

    def show_header(self) -> None:
        """Shows the pair, the state of speculation and the length of the context."""
        turn = self._state.turn
        self.header.show(self._state.session.header(turn.num_tokens if turn else 0, tools=self._state.tools.num_on))

    def show_figures(self, view: TurnView) -> None:
        """Shows the figures of a turn."""
        self._figures = view
        self.dashboard.show(view)
        self.dashboard_row.show(view)

    def show_memory(self, memory: MemoryUse | None) -> None:
        """Shows what the loaded models take beside the figures that are shown."""
        self.show_figures(replace(self._figures, memory=memory))

    def show_outbox(self) -> None:
        """Shows what is queued, and leaves its keys to it; says at the outputs of commands whether they went."""
        outbox, sent = self._state.outbox, self._state.sent
        waiting = [*outbox.outputs, *(output for message in outbox.messages for output in message.outputs)]
        for entry in self.transcript.entries:
            if isinstance(entry, CommandEntry):
                entry.show_way(waiting, sent.outputs if sent else ())
        self.outbox_bar.show(outbox)
        keys = ("up", "enter") if outbox.held else ("up",) if outbox.messages else ()
        self.prompt.left_to_queue = frozenset(keys)

    def show_conversation(self) -> None:
        """Shows the whole conversation, scrolled to its end, with the mark at the message that is edited."""
        self.transcript.load(self.entries_of(self._state.session.conversation))
        editing = self._state.editing
        self.transcript.mark_edited(None if editing is None or not self._editing else self._entry_of(editing))

    def entries_of(self, conversation: Conversation) -> list[TranscriptEntry]:
        """What the transcript shows of a conversation: its messages, and the summaries where the model reads them."""
        entries: list[TranscriptEntry] = []
        for message in conversation.path():
            entries.append(self._entry(conversation, message))
            if message.summary is not None:
                entries.append(SummaryEntry(message.summary))
        return entries

    def show_last(self, message: StoredMessage) -> None:
        """Shows a message that was added to the conversation."""
        self.transcript.add(self._entry(self._state.session.conversation, message))

    def answer_in_view(self) -> int | None:
        """The id of the answer that the user looks at."""
        return message_id(self.transcript.answer_in_view())

    def give_back(self) -> None:
        """Puts a message that waits for the models back into the prompt."""
        waiting = self._state.take_back()
        if waiting is not None:
            self.unsay(waiting)

    def unsay(self, text: str) -> None:
        """Puts the last message of the transcript, which got no answer, back into the prompt."""
        if self.put_back(text):
            messages = [entry for entry in self.transcript.entries if isinstance(entry, UserMessage)]
            messages[-1].remove()

    def put_back(self, text: str) -> bool:
        """Puts a message without an answer back into the prompt, as it was typed. Returns False if there is no room."""
        sent = self._state.sent
        if sent is None or sent.text != text:
            return self.prompt.give_back(text)
        if self.prompt.text:
            return False
        self.prompt.recall(sent.entry)
        self._state.outbox.give_back(sent.outputs)
        self.show_outbox()
        return True

    def _entry_of(self, message: int) -> TranscriptEntry | None:
        return next((entry for entry in self.transcript.entries if message_id(entry) == message), None)

    def _show_above_prompt(self) -> None:
        title = " · ".join(filter(None, (self._mode, self._editing)))
        self._entry_row.border_title = f" {title} " if title else ""

    def _entry(self, conversation: Conversation, message: StoredMessage) -> TranscriptEntry:
        session = self._state.session
        siblings = Siblings(*conversation.place(message.id))
        if message.role == "tool":
            return self._tool_entry(conversation, message, message.tools or ToolUse())
        if message.role != "assistant":
            return UserMessage(message.content, key=message.id, siblings=siblings, images=message.images)
        return TranscriptAnswer.stored(
            session.answerer,
            message.content,
            message.figures or ending_in(message.state),
            trace=partial(self._state.archive.rounds, message.id),
            key=message.id,
            siblings=siblings,
            calls=message.tools is not None,
        )

    @staticmethod
    def _tool_entry(conversation: Conversation, result: StoredMessage, of: ToolUse) -> ToolEntry:
        """A result with the arguments of its call, which are in the answer before it."""
        entry = ToolEntry(of.name, conversation.arguments_of(result.id))
        entry.finish(result.content, failed=of.failed, seconds=of.seconds)
        return entry


def message_id(entry: object) -> int | None:
    """The id of the message that an entry of the transcript shows."""
    key = getattr(entry, "key", None)
    return key if isinstance(key, int) else None
