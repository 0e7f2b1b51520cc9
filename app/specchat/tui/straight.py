"""Rows that go straight to the terminal, past the composing of the whole screen.

While an answer streams, composing costs many times what the rows themselves do, and the engine loses what drawing
takes. Nothing is hidden from Textual: the widget draws the same rows whenever the screen is composed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rich.console import Console
from textual._compositor import CompositorUpdate
from textual.geometry import Offset, Region
from textual.strip import Strip
from textual.widget import Widget


def filtered(widget: Widget, strip: Strip) -> Strip:
    """A strip as Textual draws it, in no colours where none are wanted."""
    if filters := widget.get_line_filters():
        background = widget.background_colors[1]
        for line_filter in filters:
            strip = strip.apply_filter(line_filter, background)
    return strip


class RowsUpdate(CompositorUpdate):
    """Strips, each with its place on the screen."""

    def __init__(self, corner: Offset, rows: Sequence[tuple[int, Strip]]) -> None:
        """`rows` are strips and how many rows below the corner each of them stands."""
        self._corner = corner
        self._rows = rows

    def render_segments(self, console: Console) -> str:
        """What the terminal is sent."""
        x, y = self._corner
        return "".join(f"\x1b[{y + row + 1};{x + 1}H{strip.render(console)}" for row, strip in self._rows)


class Straight:
    """The way to the terminal of one widget, open where nothing else can be seen in its place."""

    def __init__(self, widget: Widget) -> None:
        self._widget = widget
        self._visible: Mapping[Widget, tuple[Region, Region]] | None = None
        self._room = self._clip = Region()
        self._covers: list[Region] = []

    def is_open(self, region: Region) -> bool:
        """Whether rows in this region of the widget can be drawn; else they have to be composed with the others."""
        widget, app = self._widget, self._widget.app
        if not widget.is_attached or widget.screen is not app.screen or app._batch_count:
            return False
        visible = widget.screen._compositor.visible_widgets
        if visible is not self._visible:
            self._visible = visible
            self._learn(visible)
        place = region.translate(self._room.offset)
        return bool(place) and self._clip.contains_region(place) and not any(map(place.overlaps, self._covers))

    def draw(self, corner: Offset, rows: Sequence[tuple[int, Strip]]) -> None:
        """Draws strips, each so many rows below a corner in the widget, where it is open."""
        app = self._widget.app
        # Typed for what a console renders, while it takes any update of the compositor as well.
        app._display(app.screen, RowsUpdate(self._room.offset + corner, rows))  # type: ignore[arg-type]

    def _learn(self, visible: Mapping[Widget, tuple[Region, Region]]) -> None:
        """Where the widget stands, and what stands in front of it; they come from front to back."""
        self._room, clip = visible.get(self._widget, (Region(), Region()))
        self._clip = self._room.intersection(clip)
        self._covers = []
        for widget, (region, clipped) in visible.items():
            if widget is self._widget:
                break
            self._covers.append(region.intersection(clipped))
