"""An answer as it was decoded: every token in the ink of its outcome, drawn row by row: appending stays cheap."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from specchat.tui.pieces import Ink, Piece
from specchat.tui.wrapping import Line, Wrapper

CURSOR = "▌"


class Trace(Widget):
    """Holds all pieces of an answer and shows them wrapped, with or without what was thrown away."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"trace--{ink.value}" for ink in Ink} | {"trace--cursor"}

    DEFAULT_CSS = "Trace { height: auto; }\n" + "\n".join(
        f"Trace > .trace--{ink.value} {{ color: $outcome-{ink.value}; text-style: $outcome-{ink.value}-style; }}"
        for ink in Ink
    )

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[Piece] = []
        self._wrapper = Wrapper(1)
        self._strips: dict[int, Strip] = {}
        self._base: Style | None = None
        self._all_inks = True
        self._live = True

    @property
    def plain(self) -> str:
        """The answer's text, without what was thrown away."""
        return "".join(piece.text for piece in self._pieces if piece.ink.emitted)

    def append(self, pieces: Sequence[Piece]) -> None:
        """Adds pieces at the end; only the rows that change are drawn again."""
        self._pieces.extend(pieces)
        if self.size.width:
            rows = len(self._wrapper.lines)
            self._redraw_from(self._wrapper.write(self._shown(pieces)), rows)

    def show_thrown_away(self, shown: bool) -> None:
        """Shows or hides rejected and discarded tokens."""
        if shown is not self._all_inks:
            self._all_inks = shown
            self._rewrap(self._wrapper.width)
            self.refresh(layout=True)

    def finish(self) -> None:
        """Takes the cursor away: no more text will come."""
        self._live = False
        self._strips.pop(len(self._wrapper.lines) - 1, None)
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """The rows that the answer takes at this width."""
        if width != self._wrapper.width:
            self._rewrap(width)
        return len(self._wrapper.lines)

    def render_lines(self, crop: Region) -> list[Strip]:
        """The rows in sight, from the cache unless they changed; a trace has no border and no padding."""
        strips = [self.render_line(y) for y in crop.line_range]
        if crop.column_span == (0, self.size.width):
            return strips
        return [strip.crop(*crop.column_span) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One row, as wide as the widget."""
        if y not in self._strips:
            if self._base is None:
                self._base = self.rich_style
            strip = self._strip(y, self._base) if y < len(self._wrapper.lines) else Strip([])
            strip = strip.adjust_cell_length(self.size.width, self._base).apply_offsets(0, y)
            for line_filter in self.get_line_filters():
                strip = strip.apply_filter(line_filter, self.background_colors[1])
            self._strips[y] = strip
        return self._strips[y]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The selected text, with line ends only where the answer has them."""
        selected = []
        for y, line in enumerate(self._wrapper.lines):
            span = selection.get_span(y)
            if span is not None:
                start, end = span
                selected.append(line.text[start:] + line.ending if end == -1 else line.text[start:end])
        return "".join(selected), "\n"

    def selection_updated(self, selection: Selection | None) -> None:
        """Draws the selection."""
        self._strips.clear()
        self.refresh()

    def notify_style_update(self) -> None:
        """Draws all rows in the new theme's colours."""
        super().notify_style_update()
        self._strips.clear()
        self._base = None

    def on_resize(self) -> None:
        """Breaks the rows anew for another width."""
        if self.size.width != self._wrapper.width:
            self._rewrap(self.size.width)
            self.refresh(layout=True)

    def _shown(self, pieces: Sequence[Piece]) -> Sequence[Piece]:
        return pieces if self._all_inks else [piece for piece in pieces if piece.ink.emitted]

    def _rewrap(self, width: int) -> None:
        self._wrapper = Wrapper(width)
        self._strips.clear()
        self._wrapper.write(self._shown(self._pieces))

    def _redraw_from(self, first: int, rows_before: int) -> None:
        rows = len(self._wrapper.lines)
        for y in range(first, rows):
            self._strips.pop(y, None)
        if rows != rows_before:
            self.refresh(layout=True)
        else:
            self.refresh(Region(0, first, self.size.width, rows - first))

    def _strip(self, y: int, base: Style) -> Strip:
        line = self._wrapper.lines[y]
        segments = [segment for piece in line.pieces for segment in self._segments(piece, base)]
        if self._live and y == len(self._wrapper.lines) - 1:
            segments.append(Segment(CURSOR, base + self.get_component_rich_style("trace--cursor", partial=True)))
        return self._with_selection(Strip(segments), line, y)

    def _segments(self, piece: Piece, base: Style) -> list[Segment]:
        """The piece as segments; a stroke or a line starts at the first letter, not at the space before it."""
        style = base + self.get_component_rich_style(f"trace--{piece.ink.value}", partial=True)
        letters = piece.text.lstrip(" ")
        spaces = piece.text[: len(piece.text) - len(letters)]
        return [Segment(text, own) for text, own in ((spaces, base), (letters, style)) if text]

    def _with_selection(self, strip: Strip, line: Line, y: int) -> Strip:
        span = self.text_selection.get_span(y) if self.text_selection is not None else None
        if span is None:
            return strip
        start, end = span
        cells = strip.index_to_cell_position
        size = len(line.text)
        cuts = [cells(min(start, size)), cells(size if end == -1 else min(end, size)), strip.cell_length]
        before, selected, after = strip.divide(cuts)
        marked = self.screen.get_component_rich_style("screen--selection", partial=True)
        segments = [Segment(segment.text, (segment.style or Style()) + marked) for segment in selected]
        return Strip.join([before, Strip(segments), after])
