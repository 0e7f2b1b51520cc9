"""The look of every app of this package: two themes of its own beside Textual's, and the user's keys."""

from __future__ import annotations

from textual import on
from textual.driver import Driver

from specchat.errors import ConfigError
from specchat.settings.chosen_theme import remember_theme
from specchat.terminal.background import Background
from specchat.tui.appearance import DARK, LIGHT, Appearance, outcome_variables
from specchat.tui.terminal_input import TerminalApp

WIDTHS = ((0, "-narrow"), (110, "-wide"), (200, "-huge"))
"""The class of a screen that has at least this many columns."""


class ThemedApp(TerminalApp):
    """An app in the user's colours. The next start uses the theme that was chosen last."""

    def __init__(self, appearance: Appearance | None = None, background: Background | None = None) -> None:
        super().__init__(background)
        self.HORIZONTAL_BREAKPOINTS = [*WIDTHS]
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self._appearance = appearance or Appearance()
        self._in_force = self._appearance.theme
        self.theme = self._in_force
        self.set_keymap(self._appearance.keymap)

    @on(Driver.SignalResume)
    def draw_all(self) -> None:
        """Draws the whole screen when the app comes back from the shell, also what has not changed."""
        self.refresh(layout=True)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The colours of outcomes for Textual's own themes."""
        return outcome_variables(dark=self.current_theme.dark)

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
