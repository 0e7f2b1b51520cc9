"""The figures of the turn: a side panel that explains each of them, and a single row for narrow screens."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.message import Message

from specchat.stats.charts import Line, Style
from specchat.stats.figures import FIGURES
from specchat.stats.figures.answer import latest, ribbon
from specchat.stats.figures.figure import Figure, Row, length
from specchat.stats.figures.speed import SPEED
from specchat.stats.turn import TurnView
from specchat.tui.appearance import legend_line
from specchat.tui.widgets.lines import Lines


class Dashboard(Lines, can_focus=True):
    """The side panel. It shows the latest snapshot in the room it has.

    While it has the focus, one figure is marked and explained.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,left", "mark(-1)", "Figure above", show=False, id="figures.up"),
        Binding("down,right", "mark(1)", "Figure below", show=False, id="figures.down"),
        Binding("enter,question_mark,f12", "explain", "Explain", key_display="?", id="figures.explain"),
        Binding("escape", "leave", "Back", id="figures.leave"),
    ]

    class Left(Message):
        """The user leaves the panel."""

    @dataclass
    class Explain(Message):
        """The user wants more about a figure of these numbers."""

        figure: Figure
        view: TurnView

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._view = TurnView()
        self._marked: Figure = SPEED
        self._explains = False
        self._panel: Panel | None = None
        self.border_title = "This turn"
        self.border_subtitle = legend_line(short=True)

    @property
    def view(self) -> TurnView:
        """The snapshot."""
        return self._view

    def show(self, view: TurnView) -> None:
        """Show another snapshot."""
        self._view = view
        self._draw()

    def on_resize(self) -> None:
        """Draw the snapshot at the new size."""
        self._draw()

    def on_focus(self) -> None:
        """Explain the marked figure."""
        self._explains = True
        self.border_subtitle = "↑↓ explains · ? more · Esc back"
        self._draw()

    def on_blur(self) -> None:
        """Remove the mark and the explanation."""
        self._explains = False
        self.border_subtitle = legend_line(short=True)
        self._draw()

    def action_mark(self, steps: int) -> None:
        """Explain the next figure, or the one before."""
        self._marked = following(self._marked, steps)
        self._draw()

    def action_explain(self) -> None:
        """Ask for the whole explanation of the marked figure."""
        self.post_message(self.Explain(self._marked, self.view))

    def action_leave(self) -> None:
        """Go back."""
        self.post_message(self.Left())

    def on_click(self, event: Click) -> None:
        """Explain the figure that was clicked."""
        offset = event.get_content_offset(self)
        figures = self._panel.figures if self._panel else ()
        if offset is not None and offset.y < len(figures):
            self._marked = figures[offset.y] or self._marked
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
        """Show another snapshot."""
        self._view = view
        if self.size.width:
            self.show_lines([strip(view, self.size.width)])

    def on_resize(self) -> None:
        """Draw the snapshot at the new width."""
        self.show_lines([strip(self._view, self.size.width)])


_USUAL_RIBBON, _LONGEST_RIBBON = 3, 8
_LONGEST_EXPLANATION = 260
"""The length of the longest explanation in characters, with long numbers."""

_NOTHING = Content()


def rows(view: TurnView, width: int) -> list[Row]:
    """The rows of the panel for `width` cells. The rows of `ribbon` come below.

    There are always as many, except that in a narrow panel some figures need a further row.
    """
    return [row for figure in FIGURES for row in figure.rows(view, width)]


MARKABLE = tuple(dict.fromkeys(row.figure for row in (*rows(TurnView(), 40), *ribbon(TurnView(), 40, 1)) if row.figure))
"""The figures that can be marked, from top to bottom."""


class Panel(NamedTuple):
    """The rows, and the figure of each row."""

    lines: tuple[Content, ...]
    figures: tuple[Figure | None, ...]


def panel(view: TurnView, width: int, height: int, marked: Figure | None = None) -> Panel:
    """The panel in `width` × `height` cells. The first column is for the mark."""
    below = _explanation(marked, view, width) if marked else []
    room = max(height - len(below), 1)
    figures = rows(view, width - 1)
    rounds = min(max(room - len(figures), _USUAL_RIBBON), _LONGEST_RIBBON)
    all_rows = [*figures, *ribbon(view, width - 1, rounds)]
    shown = fitting(all_rows, room, marked)
    of_marked = [at for at, row in enumerate(shown) if marked and row.figure is marked]
    lines = [_line(row.pieces, width, at in of_marked, at in of_marked[:1]) for at, row in enumerate(shown)]
    filling = [_NOTHING] * (room - len(shown)) if below else []
    return Panel((*lines, *filling, *below), tuple(row.figure for row in shown))


def fitting(all_rows: Sequence[Row], height: int, marked: Figure | None = None) -> list[Row]:
    """As many rows as fit. Those of the marked figure are dropped last."""
    left = list(all_rows)
    while len(left) > max(height, 1):
        _, _, last = max((row.figure != marked or marked is None, row.spare, at) for at, row in enumerate(left))
        del left[last]
    return left


def following(marked: Figure | None, steps: int) -> Figure:
    """The figure `steps` places further, around the end."""
    if marked is None:
        return MARKABLE[0 if steps >= 0 else -1]
    return MARKABLE[(MARKABLE.index(marked) + steps) % len(MARKABLE)]


def _explanation(marked: Figure, view: TurnView, width: int) -> list[Content]:
    """A rule and the explanation. Its height depends on the width only, so the rows above do not move with the mark."""
    room = max(width - 1, 10)
    height = -(-_LONGEST_EXPLANATION // room)
    lines = textwrap.wrap(marked.caption(view), room)[:height]
    lines += [""] * (height - len(lines))
    return [Content.styled("─" * width, "$border"), *(Content(f" {line}") for line in lines)]


def _line(pieces: Line, width: int, strong: bool, marked: bool) -> Content:
    line = Content.assemble(("▸" if marked else " ", "bold $primary"), *pieces).truncate(width)
    return line.stylize("bold") if strong else line


def strip(view: TurnView, width: int) -> Content:
    """The dashboard in one row, for narrow screens. Figures that do not fit are left out from the right."""
    groups = [group for figure in FIGURES if (group := figure.short(view))]
    while length(groups) > width and len(groups) > 1:
        groups.pop()
    left = width - length(groups) - 2
    rounds: Line = (("  ", Style.PLAIN), *latest(view.ribbon, left)) if left >= 6 else ()
    return Content.assemble(*chain.from_iterable(groups), *rounds).truncate(width)
