"""Containers that are drawn at nearly no cost, however often what they hold grows."""

from __future__ import annotations

from textual.containers import Vertical
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget


class Bare(Widget):
    """Only a background: no border, no padding is drawn. Textual draws a container anew, row by row, when it grows.

    It stands behind the container's own class among the bases, since style sheets are inherited from the first.
    """

    def render_lines(self, crop: Region) -> list[Strip]:
        """The same blank row for every row."""
        strip = Strip.blank(crop.width, self.rich_style)
        background = self.background_colors[1]
        for line_filter in self.get_line_filters():
            strip = strip.apply_filter(line_filter, background)
        return [strip] * crop.height


class BareVertical(Vertical, Bare):
    """A bare container whose entries stand below each other."""
