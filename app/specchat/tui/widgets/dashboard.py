"""This turn in figures: a panel that explains each of them, and one row of it for narrow screens."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message

from specchat.chat.turn_view import TurnView
from specchat.stats.explain import Figure
from specchat.tui.figures import strip
from specchat.tui.legend import legend_line
from specchat.tui.panel import Panel, following, panel
from specchat.tui.widgets.lines import Lines


class Dashboard(Lines, can_focus=True):
    """The side panel. It draws the snapshot it was given last, in the room it has; while it has the focus, a mark
    goes through the figures and the marked one is explained."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "mark(-1)", "Figure above", show=False, id="figures.up"),
        Binding("down,right", "mark(1)", "Figure below", show=False, id="figures.down"),
        Binding("escape", "leave", "Back", id="figures.leave"),
    ]

    class Left(Message):
        """The user has seen enough."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._view = TurnView()
        self._marked = Figure.SPEED
        self._explains = False
        self._panel: Panel | None = None
        self.border_title = "This turn"
        self.border_subtitle = legend_line()

    def show(self, view: TurnView) -> None:
        """Draws another snapshot."""
        self._view = view
        self._draw()

    def on_resize(self) -> None:
        """Draws the snapshot in the new room."""
        self._draw()

    def on_focus(self) -> None:
        """Explains."""
        self._explains = True
        self.border_subtitle = "↑↓ explains · Esc back"
        self._draw()

    def on_blur(self) -> None:
        """Takes the mark away."""
        self._explains = False
        self.border_subtitle = legend_line()
        self._draw()

    def action_mark(self, steps: int) -> None:
        """Explains the next figure, or the one before."""
        self._marked = following(self._marked, steps)
        self._draw()

    def action_leave(self) -> None:
        """Goes back."""
        self.post_message(self.Left())

    def on_click(self, event: Click) -> None:
        """Explains what was clicked on."""
        place = event.get_content_offset(self)
        figures = self._panel.figures if self._panel else ()
        if place is not None and place.y < len(figures):
            self._marked = figures[place.y] or self._marked
            self._draw()

    def _draw(self) -> None:
        room = self.content_size
        if room.width:
            self._panel = panel(self._view, room.width, room.height, self._marked if self._explains else None)
            self.show_lines(self._panel.lines)


class DashboardRow(Lines):
    """The dashboard in one row."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._view = TurnView()

    def show(self, view: TurnView) -> None:
        """Draws another snapshot."""
        self._view = view
        if self.size.width:
            self.show_lines([strip(view, self.size.width)])

    def on_resize(self) -> None:
        """Draws the snapshot at the new width."""
        self.show_lines([strip(self._view, self.size.width)])
