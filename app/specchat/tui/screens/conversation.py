"""The parts of the chat, and how messages go to the engine and rounds come back to the widgets."""

from __future__ import annotations

import gc
from importlib import import_module
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.screen import Screen
from textual.widgets import Static

from specchat.chat.archive import Archive
from specchat.chat.client import EngineClient
from specchat.chat.commands.reading import Sources
from specchat.chat.history import History, history_file
from specchat.chat.library_names import LibraryNames
from specchat.chat.session import ChatSession, Phase, Unsent
from specchat.chat.turn_view import TurnView
from specchat.models.formatting import model_name, pair_name
from specchat.settings.options import ChatOptions
from specchat.settings.paths import memories_folder
from specchat.terminal.priority import give_way
from specchat.tui.conversation_entries import entries_of
from specchat.tui.dashboard.dashboard import Dashboard, DashboardRow
from specchat.tui.engine_link import EngineLink
from specchat.tui.legend import legend_line
from specchat.tui.memories import Memories
from specchat.tui.pace import Pace
from specchat.tui.transcript.answer import View
from specchat.tui.transcript.entries import Siblings, TranscriptNotice, UserMessage
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.widgets.download_bar import DownloadBar
from specchat.tui.widgets.header import Header
from specchat.tui.widgets.key_row import KeyRow
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.prompt import Prompt
from specchat.worker.protocol import Ended, Loaded, Loading, Notice, Started, WorkerFailed
from specchat_engine.decoding.rounds import Round
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.traces.trace import Trace
    from specchat.tui.play import Play

_OF_AN_ANSWER = ("specchat.tui.play",)
"""What the first answer needs: imported behind the first frame."""

_FIGURES_PAUSE = 0.5
_READING_PAUSE = 0.25
_KEEPING_PAUSE = 1.0


class ConversationScreen(Screen[None]):
    """Sends messages to the engine, one at a time, and hands what comes back to the widgets."""

    def __init__(self, options: ChatOptions, client: EngineClient, archive: Archive) -> None:
        super().__init__()
        self._archive = archive
        self._memories = Memories(client, memories_folder())
        self._history = History(history_file())
        self._library = LibraryNames()
        self._session = ChatSession(options)
        self._client = client
        self._link = EngineLink(client, self)
        self._play: Play | None = None
        self._waiting: Unsent | None = None
        self._editing: int | None = None
        self._live_view = View.TRACE
        self._figures = Pace(self, _FIGURES_PAUSE, self._draw_figures)
        self._reading = Pace(self, _READING_PAUSE, self._read_ahead)
        self._keeping = Pace(self, _KEEPING_PAUSE, self._keep)

    def compose(self) -> ComposeResult:
        """Rows from top to bottom; the side panel stands beside the transcript where there is room."""
        yield Header(self._session.header())
        with Horizontal(id="middle"):
            yield Transcript(id="transcript")
            with Vertical(id="side"):
                yield Dashboard(id="dashboard")
                with Vertical(id="turned"):
                    yield Knobs(id="knobs")
        yield DashboardRow(id="row")
        yield DownloadBar()
        with Horizontal(id="entry"):
            yield Static("›", id="sign")
            yield Prompt(self._sources, self._history)
        with Horizontal(id="keys"):
            yield KeyRow()
            yield Static(legend_line(), id="legend")

    def _sources(self) -> Sources:
        """What commands can name at present."""
        from specchat.settings.presets import preset_names

        loaded = self._session.loaded
        drafters = loaded.drafters if loaded else Sources().drafters
        themes = dict.fromkeys(self.app.available_themes, "")
        self._library.refresh()
        return Sources(drafters, self._session.k_max, models=self._library, themes=themes.items, presets=preset_names)

    def on_mount(self) -> None:
        """Paints first, then does all else: the app calls back behind the first frame, the screen would before it."""
        self.query_one(Knobs).display = False
        self.query_one(Prompt).focus()
        self.app.call_after_refresh(self._painted)

    def _painted(self) -> None:
        if not gc.isenabled():
            # What `open_chat` let grow until here stays until the end.
            gc.freeze()
            gc.enable()
        self._load()
        self.run_worker(lambda: [import_module(name) for name in _OF_AN_ANSWER], group="imports", thread=True)

    async def on_engine_link_arrived(self, message: EngineLink.Arrived) -> None:
        """Takes a batch: rounds go to the running turn at once, everything else in order."""
        message.stop()
        rounds = [event for event in message.events if isinstance(event, Round)]
        last = message.events[-1]
        for event in message.events:
            if isinstance(event, Loading):
                self._session.progress = event.progress
            elif isinstance(event, Loaded):
                await self._loaded(event)
            elif isinstance(event, Started):
                self._session.started(event.line)
                if self._play is not None:
                    self._play.started(event.line)
            elif isinstance(event, Notice):
                await self._notice(event.text)
        if self._play is None:
            if isinstance(last, WorkerFailed):
                await self._load_failed(last)
        else:
            if rounds:
                await self._play.take(rounds)
            if isinstance(last, Ended | WorkerFailed):
                await self._finish(self._play, last)
            elif rounds:
                self._grew()
                return
        self._show_header()

    async def _finish(self, play: Play, last: Ended | WorkerFailed) -> None:
        self._play = None
        self._figures.cancel()
        self._keeping.cancel()
        outcome = await play.finish(last)
        self._archive_answer(play, play.trace(last))
        self._show_figures(outcome.figures)
        if outcome.unanswered is None and not self._session.conversation.holds(play.message.id):
            await self._show_conversation()
        if outcome.failure is not None:
            await self._notice(outcome.failure, failure=True)
            if self._session.settings is not None:
                self.query_one(Knobs).show(self._session.settings)
        if outcome.unanswered is not None:
            self.query_one(Prompt).give_back(outcome.unanswered)
            if outcome.failure is not None:
                await play.answer.remove()
        self.refresh_bindings()

    async def _loaded(self, event: Loaded) -> None:
        first_time = self._session.loaded is None
        give_way()
        if first_time:
            self._archive.tidy()
        settings = self._session.ready(event)
        await self.query_one(Knobs).fit(event.drafters, self._session.k_max, settings)
        if event.refusal is not None and first_time:
            await self._notice(f"The draft model was refused: {event.refusal}", failure=True)
        if event.plain_because and first_time:
            await self._notice(f"Speculation is refused: {event.plain_because}", failure=True)
        elif event.translated_because and first_time:
            await self._notice(event.translated_because)
        if self._waiting is not None and self._play is None:
            waiting, self._waiting = self._waiting, None
            await self._begin(waiting, settings)

    async def _load_failed(self, event: WorkerFailed) -> None:
        self._session.phase = Phase.FAILED
        await self._notice(f"{event.message}\nA message tries to load the model again; Ctrl+Q quits.", failure=True)
        self._give_back()

    def _give_back(self) -> None:
        """A message that still waits goes back to where it was written."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            self.query_one(Prompt).give_back(waiting.text)
            self._editing = waiting.edited

    async def on_prompt_submitted(self, message: Prompt.Submitted) -> None:
        """Takes a message, unless one is being answered or waits already."""
        if self._play is not None or self._waiting is not None:
            self._note("Esc stops the answer first" if self._play else "the model is still loading")
            return
        unsent = Unsent(message.text, self._editing)
        self._editing = None
        self.query_one(Prompt).taken()
        await self.query_one(Transcript).add(UserMessage(message.shown or message.text), follow=True)
        if self._session.phase is Phase.READY and self._session.settings is not None:
            await self._begin(unsent, self._session.settings)
            return
        self._waiting = unsent
        if self._session.phase is Phase.FAILED:
            self._load()

    def on_text_area_changed(self) -> None:
        """The engine reads what is being written, so that less is left to be read when it is sent.

        Whoever empties the prompt does not edit an earlier message any more.
        """
        if self._editing is not None and not self.query_one(Prompt).text:
            self._editing = None
            self._note("what you write now is a new message")
        self._reading.request()

    def _read_ahead(self) -> None:
        text, settings = self.query_one(Prompt).text.strip(), self._session.settings
        if text and settings is not None and self._session.phase is Phase.READY:
            self._link.prepare(self._session, settings, text)

    def _load(self) -> None:
        self._session.phase = Phase.LOADING
        self._link.load(self._session.options)
        self._show_header()

    async def _begin(self, unsent: Unsent, settings: Settings) -> None:
        """The user's message and the answer to it."""
        conversation = self._session.conversation
        self._archive.said(conversation, self._session.ask(unsent.text, unsent.edited))
        if unsent.edited is not None:
            await self._show_conversation()
        await self._answer(settings)

    async def _answer(self, settings: Settings, prefix: tuple[int, ...] = (), *, frozen: bool = False) -> None:
        """An answer to what is said begins."""
        from specchat.tui.play import Play

        message, question = self._session.begin(prefix, frozen=frozen)
        self._archive.said(self._session.conversation, message)
        self._play = Play(self._session, message, self._live_view, settings)
        self._play.answer.siblings = Siblings(*self._session.conversation.place(message.id))
        await self.query_one(Transcript).add(self._play.answer)
        self._link.ask(question, settings)
        self.refresh_bindings()

    async def _show_conversation(self) -> None:
        """Shows what is said, from its first message on."""
        conversation, loaded = self._session.conversation, self._session.loaded
        name = model_name(loaded.target) if loaded else "answer"
        await self.query_one(Transcript).load(entries_of(conversation, name, self._archive.rounds))

    def _keep(self) -> None:
        """What a crash of the app would leave of the running answer."""
        if self._play is not None:
            self._archive.grew(self._play.message, self._play.text)

    def _archive_answer(self, play: Play, trace: Trace | None) -> None:
        conversation, pair = self._session.conversation, self._session.loaded
        if not conversation.holds(play.message.id):
            question = play.message.parent
            gone = [] if question is None or conversation.holds(question) else [question]
            self._archive.unsaid([play.message.id, *gone])
            self._archive.changed(conversation.session)
        elif trace is not None and pair is not None:
            self._archive.answered(conversation.message(play.message.id), pair_name(pair.target, pair.draft), trace)

    def _apply(self, settings: Settings) -> None:
        self._session.settings = settings
        if self._play is not None:
            self._play.turn(settings)
        self._link.turn(settings)
        self._show_header()

    def _show_header(self) -> None:
        self.query_one(Header).show(self._session.header(self._play.num_tokens if self._play else 0))

    def _grew(self) -> None:
        """The running answer has more rounds."""
        self._figures.request()
        self._keeping.request()

    def _draw_figures(self) -> None:
        if self._play is not None:
            self._show_figures(self._play.view())
            self._show_header()

    def _show_figures(self, view: TurnView) -> None:
        self.query_one(Dashboard).show(view)
        self.query_one(DashboardRow).show(view)

    def _note(self, text: str) -> None:
        self.query_one(Header).note(text)

    async def _notice(self, text: str, *, failure: bool = False) -> None:
        await self.query_one(Transcript).add(TranscriptNotice(text, failure=failure))
