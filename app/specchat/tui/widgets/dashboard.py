"""This turn in figures: a side panel on wide screens, one row on narrow ones."""

from __future__ import annotations

from textual.widgets import Static

from specchat.tui.figures import dashboard, strip
from specchat.tui.turn import TurnView


class Dashboard(Static):
    """The side panel. It draws the snapshot it was given last, at the width it has."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._view = TurnView()
        self.border_title = "This turn"

    def show(self, view: TurnView) -> None:
        """Draws another snapshot."""
        self._view = view
        if self.size.width:
            self.update(dashboard(view, self.size.width), layout=False)

    def on_resize(self) -> None:
        """Draws the snapshot at the new width."""
        self.update(dashboard(self._view, self.size.width), layout=False)


class DashboardRow(Static):
    """The dashboard in one row."""

    ALLOW_SELECT = False

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._view = TurnView()

    def show(self, view: TurnView) -> None:
        """Draws another snapshot."""
        self._view = view
        if self.size.width:
            self.update(strip(view, self.size.width), layout=False)

    def on_resize(self) -> None:
        """Draws the snapshot at the new width."""
        self.update(strip(self._view, self.size.width), layout=False)
