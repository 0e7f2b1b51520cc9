"""This turn in figures: a panel that explains each of them, and one row of it for narrow screens."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar, NamedTuple

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.events import Click
from textual.message import Message

from specchat.chat.turn_view import TurnView
from specchat.stats.explain import Figure, explain
from specchat.tui.dashboard.figures import Row, Styled, ribbon, rows, strip
from specchat.tui.legend import legend_line
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


MARKABLE = tuple(figure for figure in Figure if figure is not Figure.ALPHA_AND_RATE)
"""The figures that the mark goes through, from top to bottom."""

_TOGETHER = (Figure.ACCEPTED, Figure.ALPHA)
"""Two figures that are taken for each other: each is explained with what tells them apart."""

_USUAL_RIBBON, _LONGEST_RIBBON = 3, 8
_LONGEST_EXPLANATION = 260
"""Characters: what the longest one takes, with numbers of many digits."""

_NOTHING = Content()


class Panel(NamedTuple):
    """What is drawn, and the figure of each of its rows, to be clicked on. Equal rows are mostly the same object."""

    lines: tuple[Content, ...]
    figures: tuple[Figure | None, ...]


def panel(view: TurnView, width: int, height: int, marked: Figure | None = None) -> Panel:
    """The panel in `width` × `height` cells, the first column for the mark."""
    below = _explanation(marked, view, width) if marked else []
    room = max(height - len(below), 1)
    figures = rows(view, width - 1)
    rounds = min(max(room - len(figures), _USUAL_RIBBON), _LONGEST_RIBBON)
    all_rows = [*figures, *ribbon(view, width - 1, rounds)]
    shown = fitting(all_rows, room, marked)
    lines = [_line(tuple(row.parts), width, marked is not None and row.figure is marked) for row in shown]
    filling = [_NOTHING] * (room - len(shown)) if below else []
    return Panel((*lines, *filling, *below), tuple(row.figure for row in shown))


def fitting(all_rows: Sequence[Row], height: int, marked: Figure | None = None) -> list[Row]:
    """As many rows as there is room for; those of the marked figure go last."""
    left = list(all_rows)
    while len(left) > max(height, 1):
        _, _, last = max((row.figure != marked or marked is None, row.spare, at) for at, row in enumerate(left))
        del left[last]
    return left


def following(marked: Figure | None, steps: int) -> Figure:
    """The figure so many places further, round and round."""
    if marked is None:
        return MARKABLE[0 if steps >= 0 else -1]
    return MARKABLE[(MARKABLE.index(marked) + steps) % len(MARKABLE)]


def explanation(marked: Figure, view: TurnView) -> str:
    """What a figure means, with this turn's own numbers."""
    sentences = [explain(marked, view.shown)]
    if marked in _TOGETHER:
        sentences.append(explain(Figure.ALPHA_AND_RATE, view.shown))
    return " ".join(sentences)


def _explanation(marked: Figure, view: TurnView, width: int) -> list[Content]:
    """A rule and, at one width, always the same number of rows, so that nothing above moves with the mark."""
    room = max(width - 1, 10)
    height = -(-_LONGEST_EXPLANATION // room)
    lines = textwrap.wrap(explanation(marked, view), room)[:height]
    lines += [""] * (height - len(lines))
    return [Content.styled("─" * width, "$border"), *(Content(f" {line}") for line in lines)]


@lru_cache(maxsize=256)
def _line(parts: tuple[Styled, ...], width: int, here: bool) -> Content:
    line = Content.assemble(("▸" if here else " ", "bold $primary"), *parts).truncate(width)
    return line.stylize("bold") if here else line
