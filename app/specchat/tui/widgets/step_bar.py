"""Step mode in one row above the prompt."""

from __future__ import annotations

from textual.widgets import Static

from specchat.tui.stepping import Stepping, bar_line


class StepBar(Static):
    """Draws the mode as it was told last, at the width it has."""

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._told: tuple[Stepping, int | None, bool] = (Stepping(), None, False)

    def show(self, stepping: Stepping, rounds: int | None, *, writing: bool) -> None:
        """Draws another moment."""
        self._told = stepping, rounds, writing
        self._draw()

    def on_resize(self) -> None:
        """Draws it at the new width."""
        self._draw()

    def _draw(self) -> None:
        stepping, rounds, writing = self._told
        if self.size.width:
            self.update(bar_line(stepping, rounds, self.size.width, writing=writing), layout=False)
