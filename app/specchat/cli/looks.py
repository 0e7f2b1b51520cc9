"""The look of the terminal app: as asked, as configured, as chosen before, or as the terminal's background needs."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING, Self

from specchat.settings.chosen_theme import chosen_theme
from specchat.terminal.background import ask_background, background_from_environment

if TYPE_CHECKING:
    from specchat.settings.schema import Config
    from specchat.tui.appearance import Appearance


class Looks:
    """Asks the terminal when it is entered and reads the answer when it is left: import the app between."""

    def __init__(self, config: Config, theme: str | None = None) -> None:
        """`theme` is what is asked for this time."""
        self._config = config
        self._theme = theme
        self._chosen = chosen_theme()
        self.background = background_from_environment()

    def __enter__(self) -> Self:
        known = self._theme or self._config.theme or self._chosen
        self._question = None if known else ask_background()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._question is not None:
            self.background = self._question.answer()

    def appearance(self) -> Appearance:
        """The theme and the keys. Raises ConfigError, in one line, for one that there is not."""
        from specchat.tui.appearance import read_appearance

        return read_appearance(
            self._theme,
            self._config.keys,
            configured=self._config.theme,
            chosen=self._chosen,
            light=self.background.light,
        )
