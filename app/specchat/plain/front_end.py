"""The front end of commands in the plain chat: each is answered in lines."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

from specchat.chat.answer_view import view_of
from specchat.chat.commands.command import Invocation
from specchat.chat.commands.learn import change_learning
from specchat.chat.controller import ChatController
from specchat.chat.conversation import Conversation
from specchat.chat.outbox import with_outputs
from specchat.chat.variables import variables
from specchat.errors import SpecchatError
from specchat.manual.search import key_words
from specchat.manual.sections import section_at
from specchat.plain.files import PlainFiles
from specchat.plain.help import PlainHelp
from specchat.plain.paper import Paper, spoken, spoken_rejections
from specchat.plain.shell import PlainShell
from specchat.plain.tools import PlainTools
from specchat.stats.figures import FIGURES, NAMED
from specchat.stats.figures.answer import ROUNDS
from specchat.stats.figures.figure import Figure
from specchat.stats.figures.speed import in_short
from specchat.stats.turn import TurnView
from specchat.store.images import StoredImage
from specchat.store.records import StoredMessage
from specchat.store.tags import with_signs
from specchat.terminal.editor import edited, editor_command
from specchat.traces.trace import Trace, read_trace
from specchat_engine.errors import EngineError
from specchat_engine.settings import Settings

_MOST_SESSIONS = 10
_NEEDS_SCREEN = "This command needs the screen: start specchat without --plain."


class PlainFrontEnd:
    """Does what a line asks for, in the conversation that it was given or in one that it opens.

    `answer` answers the last message; the answer begins with the text that it is given.
    """

    def __init__(
        self,
        chat: ChatController,
        paper: Paper,
        answer: Callable[[str], Trace | None],
        tools: PlainTools,
    ) -> None:
        self._chat = chat
        self._paper = paper
        self._answered_by = answer
        self._last: Trace | None = None
        self._listed: tuple[int, ...] = ()
        """The sessions that /sessions listed last."""
        self._given: Invocation[Any] | None = None
        self._unconfirmed: Invocation[Any] | None = None
        """The command before this one, if a file existed that it would have replaced."""
        self._ended = False
        self._shell = PlainShell(paper)
        self.files = PlainFiles(paper, self.ask)
        self._pages: dict[str, Callable[..., Awaitable[None] | None]] = {
            "edit answer": self._edit_answer,
            "explain": self._explain,
            "help": PlainHelp(paper).show,
            "learning": lambda: self.note(change_learning(chat.session.options, "show")),
            "paste": self.files.paste,
            "regen": self._regenerate,
            "replay": self._say_rejections,
            "sessions": self._sessions,
            "!": self._shell.take,
            "stats": self._say_statistics,
            "tool file": tools.allow_file,
            "tools": tools.use,
        }

    def ask(self, text: str, images: tuple[StoredImage, ...] = ()) -> None:
        """Answers a message with images, and with the outputs of the commands before it."""
        chat, session = self._chat, self._chat.session
        if images and (why := session.no_images_because):
            self._paper.say(f"The message was not sent: {why}.")
            return
        for image in images:
            self._paper.say(f"With the image {image.label}.")
        text = with_outputs(text, self._shell.take_outputs())
        chat.close_calls()
        chat.ask(text, images=images)
        self._answer()

    def perform(self, invocation: Invocation[Any]) -> bool:
        """Does what a command asks for. Returns False if it ends the chat."""
        self._given, before = invocation, self._given
        if self._unconfirmed is not before:
            self._unconfirmed = None
        asyncio.run(invocation.run(self._chat, self))
        return not self._ended

    def resume(self, stored: int) -> None:
        """Continues a stored session with the present models; says what it is, or why it cannot be opened."""
        asyncio.run(self._resume(stored))

    def note(self, text: str, *, passing: bool = False) -> None:
        """Says one line."""
        self._paper.say(text)

    def notice(self, text: str, *, failure: bool = False) -> None:
        """Says all lines of a text."""
        for line in text.splitlines():
            self._paper.say(line)

    async def show(self, page: str, *arguments: Any) -> None:
        """Says what a page says, or that it needs the screen."""
        if page not in self._pages:
            self._paper.say(_NEEDS_SCREEN)
            return
        work = self._pages[page](*arguments)
        if work is not None:
            await work

    async def background(self, work: Coroutine[Any, Any, None], words: str = "") -> None:
        """Waits for the end of the work."""
        await work

    async def confirm(self, path: Path, then: Callable[[], Awaitable[None]]) -> None:
        """Takes the same command, given again at once, as consent."""
        if self._unconfirmed == self._given:
            self._unconfirmed = None
            await then()
        else:
            self._unconfirmed = self._given
            self._paper.say(f"{path} exists. The same command again replaces it.")

    def fill(self, text: str, name: str) -> None:
        """Sends a stored prompt; one with variables that are left is only read out."""
        self.notice(text)
        if left := variables(text):
            self._paper.say(f"It needs {', '.join(left)}: /prompt {name} and a word for each, in this order.")
        else:
            self.files.send(text)

    def apply(self, settings: Settings, words: str = "") -> None:
        """Uses other settings and says them; of a level of thinking also that it has no effect, if that is so."""
        before = self._chat.settings
        self._chat.apply(settings)
        sampling = settings.sampling
        usual = f"k {settings.k}, drafter {settings.drafter}, temperature {sampling.temperature:g}."
        self._paper.say(words or usual)
        if before and settings.thinking != before.thinking and (why := self._chat.session.unheard(settings)):
            self._paper.say(why)

    async def enter(self, conversation: Conversation) -> None:
        """Goes on with an empty conversation."""
        self._enter(conversation)
        self._paper.say("A new session.")

    def refresh(self) -> None:
        """Nothing is always visible."""

    async def quit(self) -> None:
        """Ends the chat after this command."""
        self._ended = True

    def _answer(self, prefix: str = "") -> None:
        if self._chat.settings is not None:
            self._last = self._answered_by(prefix)

    def _enter(self, conversation: Conversation) -> None:
        self._chat.enter(conversation)
        self._last = None

    async def _resume(self, stored: int) -> None:
        chat = self._chat
        try:
            self._enter(await chat.stored(stored))
        except SpecchatError as error:
            self._paper.say(str(error))
            return
        try:
            chat.session.settings = chat.stored_settings() or chat.settings
        except EngineError as error:
            self._paper.say(str(error))
        count, title = len(chat.conversation.path()), chat.conversation.session.title
        self._paper.say(f"Continuing “{title}”: {count} message{'' if count == 1 else 's'}.")

    async def _sessions(self, words: str) -> None:
        """Continues the session that was listed with this number; else lists the latest, or those with these words."""
        number = int(words) if words.isascii() and words.isdigit() else 0
        if 0 < number <= len(self._listed):
            await self._resume(self._listed[number - 1])
            return
        archive = self._chat.archive
        if words:
            hits = await archive.do(lambda store: store.search(words, limit=_MOST_SESSIONS))
            sessions = [hit.session for hit in hits]
        else:
            sessions = list(await archive.do(lambda store: store.sessions(_MOST_SESSIONS)))
        self._listed = tuple(session.id for session in sessions)
        for number, session in enumerate(sessions, 1):
            title = session.title or session.preview or "untitled"
            self._paper.say(f"{number}: {title} {with_signs(session.tags)}".rstrip())
        nothing = "No session has these words." if words else "There is no session yet."
        self._paper.say("/sessions and a number continues that one." if sessions else nothing)

    def _say_statistics(self, _scope: str) -> None:
        """Says a sentence for each figure of the last answer."""
        view = self._view()
        if not view.figures.num_rounds:
            self._paper.say("There is no answer yet.")
            return
        self._paper.say(spoken(in_short(view)))
        for figure in FIGURES:
            if figure is not ROUNDS and (sentence := figure.sentence(view)):  # the ribbon is not there
                self._paper.say(spoken(f"{figure.label}: {sentence}"))

    def _explain(self, figure: Figure | None = None) -> None:
        """Explains a figure with the last answer's numbers; lists the figures if none is named."""
        if figure is None:
            self._paper.say(f"/explain and a name explains a figure: {', '.join(NAMED)}.")
            return
        explanation = figure.explanation(self._view())
        for paragraph in explanation.paragraphs:
            self._paper.say(spoken(paragraph))
        if (more := section_at(explanation.more)) is not None:
            self._paper.say(f"More: /help {key_words(more.heading).lower()}")

    def _view(self) -> TurnView:
        """The figures of the last answer; none before it."""
        loaded = self._chat.session.loaded
        memory = loaded.memory if loaded else None
        return view_of(self._last, memory) if self._last else TurnView(memory=memory)

    def _say_rejections(self, path: Path | None = None) -> None:
        """Says what the target rejected in the last answer, or in those of a file."""
        traces = read_trace(path) if path else [self._last] if self._last else []
        for trace in traces:
            for line in spoken_rejections(trace):
                self._paper.say(line)
        if not traces:
            self._paper.say("There is no answer yet.")

    def _regenerate(self) -> None:
        last = self._last_answer()
        if last is not None:
            self._chat.conversation.rewind_to(last.parent)
            self._answer()

    async def _edit_answer(self, text: str) -> None:
        """Lets the model go on from another text of the last answer; without one, from what the editor leaves."""
        last = self._last_answer()
        if last is not None:
            text = text or await edited(last.content, editor_command())
            self._chat.conversation.rewind_to(last.parent)
            self._answer(text)

    def _last_answer(self) -> StoredMessage | None:
        answer = self._chat.last_answer
        if answer is None:
            self._paper.say("There is no answer yet.")
        return answer
