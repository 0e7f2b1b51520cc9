"""What every app of this package looks like: two themes of its own beside Textual's, and the user's keys."""

from __future__ import annotations

import os
import signal
import threading

from textual import on
from textual.app import App
from textual.driver import Driver

from specchat.errors import ConfigError
from specchat.settings.chosen_theme import remember_theme
from specchat.tui.appearance import Appearance
from specchat.tui.theme import DARK, LIGHT, outcome_variables

WIDTHS = ((0, "-narrow"), (110, "-wide"), (200, "-huge"))
"""The classes of screens from so many columns on."""


class ThemedApp(App[None]):
    """An app in the user's colours. A theme that is chosen while it runs is the next start's theme too."""

    def __init__(self, appearance: Appearance | None = None) -> None:
        super().__init__()
        self._ends = threading.Lock()
        self.HORIZONTAL_BREAKPOINTS = [*WIDTHS]
        self.register_theme(DARK)
        self.register_theme(LIGHT)
        self._appearance = appearance or Appearance()
        self._in_force = self._appearance.theme
        self.theme = self._in_force
        self.set_keymap(self._appearance.keymap)

    def get_driver_class(self) -> type[Driver]:
        """A driver that survives any input and the loss of the terminal, in the place of Textual's for terminals."""
        from textual.drivers.linux_driver import LinuxDriver

        from specchat.tui.terminal_input import TerminalDriver

        driver = super().get_driver_class()
        return TerminalDriver if driver is LinuxDriver else driver

    def terminal_lost(self) -> None:
        """Stores what is not stored yet and ends the process at once. May be called from any thread, and twice."""
        if self._ends.acquire(blocking=False):
            try:
                self.keep_now()
            finally:
                os._exit(128 + signal.SIGHUP)

    def keep_now(self) -> None:
        """Stores what would be lost, and closes what would go on, if the process ended now."""

    @property
    def takes_keys(self) -> bool:
        """Whether what is to take them has come to the screen: the focus, where one is set, or a screen without one."""
        if not self.is_running or not self.screen_stack:
            return False
        return self.screen.is_mounted and (self.screen.focused is not None or self.screen.AUTO_FOCUS == "")

    @on(Driver.SignalResume)
    def draw_all(self) -> None:
        """Draws the whole screen when the app comes back from the shell: what had not changed would stay blank."""
        self.refresh(layout=True)

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """The outcomes' colours for Textual's own themes."""
        return outcome_variables(dark=self.current_theme.dark)

    def watch_theme(self, name: str) -> None:
        """Remembers a theme, however it was chosen."""
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
