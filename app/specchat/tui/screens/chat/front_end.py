"""The front end of commands on the screen, the command palette, and actions on messages."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from textual.app import SystemCommand

from specchat.chat.commands.command import Invocation, Refusal
from specchat.chat.commands.export import ExportFile, export
from specchat.chat.commands.registry import commands
from specchat.chat.controller import Sources
from specchat.chat.conversation import Conversation
from specchat.chat.mentions import written
from specchat.chat.variables import variables
from specchat.terminal.clipboard import copy
from specchat.tui.screens.chat.view import message_id
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.transcript import Transcript
from specchat.tui.transcript.view import RAW_FORMULAS
from specchat_engine.settings import Settings

if TYPE_CHECKING:
    from specchat.tui.screens.chat.screen import ChatScreen

_IN_THE_APP = ("quit", "theme")
"""The commands that the app offers in its palette itself."""

_PANELS = {
    "Knobs": "k, drafter, verifier, temperature and more",
    "View": "The answer as trace, coloured, or Markdown",
    "Inspect": "The tokens of the answer in view: p, q, ranks",
    "Figures": "What each figure means",
}
"""The pages that have a key and no command."""


class ScreenFrontEnd:
    """Does on the screen what commands ask for."""

    def __init__(self, screen: ChatScreen) -> None:
        self._screen = screen
        self._view = screen.view
        self._pages: dict[str, Callable[..., Awaitable[None] | None]] = {
            "attach": lambda file: self._view.prompt.write(f"@{written(file)} "),
            "beside": screen.beside.show,
            "branch": screen.conversations.fork,
            "clear": lambda: screen.turns.go_on_from(None),
            "copy": self._copy_part,
            "edit answer": lambda text: screen.turns.edit_answer(text or None),
            "edit message": screen.turns.edit,
            "explain": lambda figure=None: screen.answer_windows.explain(figure),
            "figures": screen.panels.toggle_figures,
            "help": screen.panels.show_help,
            "inspect": lambda: screen.answer_windows.inspect_in_view(),
            "knobs": screen.panels.toggle_knobs,
            "learning": lambda: screen.answer_windows.statistics("Learning"),
            "load again": screen.loader.load_again,
            "load draft": screen.loader.load_draft,
            "load target": screen.loader.load_target,
            "math": self._show_formulas,
            "models": lambda role=None: screen.model_windows.browse(role),
            "paste": screen.view.prompt.paste_image,
            "race": lambda: screen.answer_windows.race(),
            "regen": screen.turns.regenerate,
            "replay": self._replay,
            "sessions": screen.panels.show_sessions,
            "!": screen.shell.start,
            "stats": lambda scope: screen.answer_windows.statistics(scope.capitalize()),
            "step": screen.step_mode.turn,
            "theme": self._use_theme,
            "tool file": screen.tools.allow_file,
            "tools": screen.tools.use,
            "tour": screen.tour.start,
            "verify": lambda: screen.answer_windows.verify(),
            "view": screen.panels.cycle_view,
            "vi_keys": self._use_vi_keys,
            "why": lambda: screen.answer_windows.statistics("Why"),
        }

    async def perform(self, invocation: Invocation[Any]) -> None:
        """Does what a command asks for."""
        await invocation.run(self._screen.state, self)

    def note(self, text: str, *, passing: bool = False) -> None:
        """Shows a line above the prompt."""
        self._view.note(text, passing=passing)

    def notice(self, text: str, *, failure: bool = False) -> None:
        """Adds a text to the transcript."""
        self._view.notice(text, failure=failure)

    async def show(self, page: str, *arguments: Any) -> None:
        """Opens a window, or changes what is shown."""
        work = self._pages[page](*arguments)
        if work is not None:
            await work

    async def background(self, work: Coroutine[Any, Any, None], words: str = "") -> None:
        """Does work while the chat goes on."""
        if words:
            self.note(words)
        self._screen.run_worker(work, group="command")

    async def confirm(self, path: Path, then: Callable[[], Awaitable[None]]) -> None:
        """Asks in a window."""
        from specchat.tui.screens.question import OverwriteScreen

        def decided(agreed: bool | None) -> None:
            if agreed:
                self._screen.call_later(then)

        self._screen.app.push_screen(OverwriteScreen(path), decided)

    def fill(self, text: str, name: str) -> None:
        """Writes a stored prompt into the prompt, where its variables are filled in."""
        if self._view.prompt.fill(text):
            self.note(f"fill in {', '.join(variables(text))}: Tab goes to the next")

    def apply(self, settings: Settings, words: str = "") -> None:
        """Uses other settings, which the header and the knobs show as far as there is room."""
        if words:
            self.note(words)
        self._screen.turns.change_settings(settings)

    async def enter(self, conversation: Conversation) -> None:
        """Shows another conversation."""
        await self._screen.conversations.begin(conversation)

    def refresh(self) -> None:
        """Draws the header, and the titles of two conversations."""
        self._view.show_header()
        self._screen.beside.show_titles()

    async def quit(self) -> None:
        """Ends the app."""
        await self._screen.app.action_quit()

    def copy(self, text: str, what: str) -> None:
        """Copies a text to the clipboard; `what` names it in the note."""
        if text:
            self.note(f"{what} {copy(text, self._screen.app.copy_to_clipboard)}")
        else:
            self.note(f"there is no {what} to copy yet")

    async def act_on_entry(self, message: Transcript.OfEntry) -> None:
        """Does what the transcript asks for."""
        screen, key = self._screen, message_id(message.entry)
        if message.entry not in self._view.transcript.entries:
            self.note("this is the other conversation: go there first")
            return
        match message:
            case Transcript.Copy():
                self.copy(message.text, message.what)
            case Transcript.Request(what="export"):
                await export(screen.state, self, ExportFile())
            case Transcript.Request(what="edit"):
                screen.turns.edit(key)
            case Transcript.Request(what="regenerate"):
                screen.turns.regenerate(key)
            case Transcript.Request(what="play"):
                await screen.answer_windows.replay(key)
            case Transcript.Request(what="branch") if key is not None:
                screen.turns.go_on_from(key)
            case Transcript.Sibling() if key is not None:
                screen.turns.switch(key, message.steps)
            case Transcript.Explain() if key is not None and message.round_index is not None:
                await screen.answer_windows.explain_token(key, message.round_index, message.place or 0)
            case Transcript.Explain():
                await screen.answer_windows.explain(answer=key)
            case Transcript.Inspect() if key is not None:
                await screen.answer_windows.inspect(key, message.round_index, message.place or 0)

    def palette(self) -> Iterator[SystemCommand]:
        """The commands that need no argument, then what has a key and no command."""
        for command in commands().values():
            try:
                invocation = command.given("", Sources())
            except Refusal:
                continue
            if command.name not in _IN_THE_APP:
                yield SystemCommand(f"/{command.name}", command.help, partial(self.perform, invocation))
        for title, about in _PANELS.items():
            yield SystemCommand(title, about, partial(self.show, title.lower()))

    async def _replay(self, path: Path | None = None) -> None:
        windows = self._screen.answer_windows
        await (windows.replay(self._view.answer_in_view()) if path is None else windows.replay_file(path))

    def _use_vi_keys(self, on: bool | None) -> None:
        prompt = self._view.prompt
        prompt.use_vi_keys(on := not prompt.has_vi_keys if on is None else on)
        self.note("vi's keys are on: Esc, then i a o; vi_keys in config.toml" if on else "vi's keys are off")

    def _show_formulas(self, on: bool | None) -> None:
        """Shows formulas in Unicode or as they are written."""
        app = self._screen.app
        raw = not app.has_class(RAW_FORMULAS) if on is None else not on
        app.set_class(raw, RAW_FORMULAS)
        for transcript in self._screen.query(Transcript):
            transcript.lay_again()
        self.note("formulas are shown " + ("as they are written" if raw else "in Unicode"))

    def _use_theme(self, name: str | None = None) -> None:
        """Uses another theme; opens the list of themes if no name is given."""
        app = self._screen.app
        if name is None:
            app.action_change_theme()
        elif name in app.available_themes:
            app.theme = name

    def _copy_part(self, part: str | int) -> None:
        """Copies the last answer, its last block of code or that with a number, or the whole chat."""
        answers = [entry for entry in self._view.transcript.entries if isinstance(entry, TranscriptAnswer)]
        if isinstance(part, int):
            codes = answers[-1].codes if answers else ()
            if part > len(codes):
                count = len(codes) or "no"
                self.note(f"the last answer has {count} code block{'' if count == 1 else 's'}")
                return
            self.copy(codes[part - 1], f"code block {part}")
            return
        if part == "chat":
            from specchat.traces.exports.document import with_calls

            messages = (with_calls(message.to_message()) for message in self._screen.state.conversation.path())
            text = "\n\n".join(f"{role}: {content}" for role, content in messages)
        elif part == "code":
            text = next((entry.codes[-1] for entry in reversed(answers) if entry.codes), "")
        else:
            text = answers[-1].raw if answers else ""
        self.copy(text, part)
