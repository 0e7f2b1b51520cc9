"""The two terminal apps: the chat, which closes the engine and the archive at the end, and the replay of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual import on
from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.driver import Driver
from textual.events import Event, Key, Paste
from textual.screen import Screen
from textual.theme import ThemeProvider

from specchat.chat.archive import Archive
from specchat.engine_process.engine_client import EngineClient
from specchat.errors import ConfigError
from specchat.settings.chosen_theme import remember_theme
from specchat.settings.options import ChatOptions
from specchat.settings.paths import sessions_db
from specchat.terminal.background import Background
from specchat.terminal.filter import clean_line
from specchat.traces.trace import Trace
from specchat.tui.appearance import DARK, LIGHT, Appearance, in_sixteen_colours, outcome_variables
from specchat.tui.screens.chat.screen import ChatScreen
from specchat.tui.screens.replay import ReplayScreen
from specchat.tui.terminal_input import TerminalApp
from specchat.tui.transcript.view import RAW_FORMULAS
from specchat.tui.widgets.download_bar import LazyDownloads

WIDTHS = ((0, "-narrow"), (110, "-wide"), (200, "-huge"))
"""The class of a screen that has at least this many columns."""


_PALETTE_CLOSES = 0.1
"""Seconds until the palette is gone from the screen."""


class ThemedApp(TerminalApp):
    """An app in the user's colours. The next start uses the theme that was chosen last."""

    def __init__(self, appearance: Appearance | None = None, background: Background | None = None) -> None:
        super().__init__(background)
        self.HORIZONTAL_BREAKPOINTS = [*WIDTHS]
        for theme in (DARK, LIGHT):
            self.register_theme(in_sixteen_colours(theme) if self._has_sixteen else theme)
        self._appearance = appearance or Appearance()
        self._in_force = self._appearance.theme
        self.theme = self._in_force
        self.set_keymap(self._appearance.keymap)
        self.set_class(not self._appearance.math, RAW_FORMULAS)

    @on(Driver.SignalResume)
    def draw_all(self) -> None:
        """Draws the whole screen when the app comes back from the shell, also what has not changed."""
        self.refresh(layout=True)

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The commands of the palette: Textual's own that make sense here, in our words."""
        yield SystemCommand("Theme", "Other colours", self.action_change_theme)
        yield SystemCommand("Screenshot", "Save the screen as an SVG picture", self._save_screen)
        yield SystemCommand("Quit", "Leave; everything is kept", self.action_quit)

    def action_command_palette(self) -> None:
        """Opens the palette."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="Find a command"))

    def search_themes(self) -> None:
        """Opens the list of themes."""
        self.push_screen(CommandPalette([ThemeProvider], placeholder="Find a theme"))

    def _save_screen(self) -> None:
        self.set_timer(_PALETTE_CLOSES, self.deliver_screenshot)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of outcomes for Textual's own themes."""
        return outcome_variables(dark=self.current_theme.dark, sixteen=self._has_sixteen)

    @property
    def _has_sixteen(self) -> bool:
        """Whether the terminal has sixteen colours."""
        return self.console.color_system == "standard"

    def watch_theme(self, name: str) -> None:
        """Remembers the theme for the next start."""
        if not self.is_running or name == self._in_force:
            return
        self._in_force = name
        try:
            remember_theme(name)
        except ConfigError as error:
            self.notify(f"the theme is not remembered: {error}", severity="warning")
            return
        if self._appearance.configured:
            self.notify(f"{name} until you leave: the theme in the configuration comes first")


class SpecchatApp(ThemedApp):
    """Chats with one pair of models."""

    TITLE = "specchat"
    CSS_PATH = "screens/chat/chat.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", priority=True, id="app.quit"),
        Binding("ctrl+p", "command_palette", "Palette", show=False, priority=True, id="app.palette"),
    ]

    def __init__(
        self,
        options: ChatOptions,
        client: EngineClient,
        appearance: Appearance | None = None,
        resume: int | None = None,
        *,
        first_run: bool = False,
        background: Background | None = None,
    ) -> None:
        """`resume` is a stored session to open with; `first_run` shows the welcome.

        `background` holds what was read from the terminal before.
        """
        super().__init__(appearance, background)
        self._options = options
        self.client = client
        self._archive = Archive(sessions_db(), self._report_trouble)
        self.downloads = LazyDownloads()
        self.unfinished: list[tuple[str, float]] = []
        """Downloads that were running when the app ended, each with the per cent that are stored."""
        self._resume = resume
        self._first_run = first_run
        self._chat: ChatScreen | None = None

    def get_default_screen(self) -> ChatScreen:
        """The chat; all windows open over it."""
        self._chat = ChatScreen(
            self._options,
            self.client,
            self._archive,
            self.downloads,
            resume=self._resume,
            first_run=self._first_run,
            own_keys=self._appearance.keymap,
            vi_keys=self._appearance.vi_keys,
        )
        return self._chat

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        """The commands of the palette: the chat's, and those of every app."""
        if isinstance(screen, ChatScreen):
            yield from screen.front_end.palette()
        yield from super().get_system_commands(screen)

    async def on_event(self, event: Event) -> None:
        """Notifies the chat of every key and paste before it is handled: a note stays until then."""
        if isinstance(event, Key | Paste) and not event.is_forwarded and isinstance(self.screen, ChatScreen):
            self.screen.before_key()
        await super().on_event(event)

    async def action_quit(self) -> None:
        """Saves the prompt cache of the session, and ends."""
        if self._chat is not None:
            await self._chat.conversations.save_prompt_cache()
        self.exit()

    def on_unmount(self) -> None:
        """Stores and ends everything."""
        self.keep_now()
        self.unfinished = [(view.name, view.percent) for view in self.downloads.close()]

    def keep_now(self) -> None:
        """Stores the running answer as far as it came, as cut off, then ends the engine."""
        if self._chat is not None:
            self._chat.turns.cut_running()
            self._chat.shell.kill()
            self._chat.tools.close()
        self._archive.close()
        self.client.close()

    def _report_trouble(self, trouble: str | None) -> None:
        """Takes the news that conversations cannot be stored, or can be again, from the thread that writes."""
        self.call_later(self._show_trouble, trouble)

    def _show_trouble(self, trouble: str | None) -> None:
        if trouble is None:
            self.notify("Conversations are being saved again.")
        else:
            self.notify(
                f"The chat goes on, but it is not being saved: {clean_line(trouble)}", severity="error", timeout=30
            )


class ReplayApp(ThemedApp):
    """Plays the turns of one trace until the user leaves."""

    TITLE = "specchat replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="app.quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, id="replay.quit"),
        Binding("ctrl+p", "command_palette", "Palette", show=False, priority=True, id="app.palette"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, id="chat.suspend"),
    ]

    def __init__(
        self,
        traces: Sequence[Trace],
        source: str,
        appearance: Appearance | None = None,
        background: Background | None = None,
    ) -> None:
        """`source` says where the turns come from."""
        super().__init__(appearance, background)
        self._traces = traces
        self._source = source

    def on_mount(self) -> None:
        """Opens the replay; leaving it ends the app."""
        self.push_screen(ReplayScreen(self._traces, source=self._source), lambda _: self.exit())
