"""One section of the documentation, drawn from its Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from specchat.manual.sections import Section, section_at
from specchat.terminal.pieces import Clickable, Piece, shown
from specchat.terminal.word_wrap import Line, cells, drawn
from specchat.tui.transcript.markdown import MarkdownRows

_NARROWEST = 20


class SectionText(VerticalScroll, can_focus=True, inherit_bindings=False):
    """A section, laid out for the width. Below it stand the pages that it links to, each with the key that opens it.

    The arrows are the window's.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        binding
        for binding in VerticalScroll.BINDINGS
        if isinstance(binding, Binding) and binding.key in ("home", "end")
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._section: Section | None = None
        self._text = Static()

    def compose(self) -> Iterator[Static]:
        """The text."""
        yield self._text

    def show(self, section: Section) -> None:
        """Show another section, from its beginning."""
        self._section = section
        self.call_after_refresh(self._draw)
        self.scroll_home(animate=False)

    def on_resize(self) -> None:
        """Lay the text out for the new width."""
        self._draw()

    def _draw(self) -> None:
        width = self.scrollable_content_region.width
        if self._section is not None and width >= _NARROWEST:
            lines = MarkdownRows(width, shown(self._section.page + _see_also(self._section))).lines
            self._text.update(Content("\n").join(_row(line, width) for line in lines))


def _see_also(section: Section) -> str:
    """The pages behind the links, in Markdown."""
    numbered = [(number, section_at(place)) for number, place in enumerate(section.links, 1)]
    named = [f"`{number}` {target.title}" for number, target in numbered if target is not None]
    return f"\nSee also: {', '.join(named)}\n" if named else ""


def _row(line: Line, width: int) -> Content:
    """A row; a background goes to its end."""
    pieces = [*line.prefix, *line.pieces]
    used = sum(cells(piece.text) for piece in pieces)
    fill = " " * (width - used) if line.ground else ""
    return Content.assemble(*(_part(piece, line.ground) for piece in (*pieces, Piece(fill, ""))))


def _part(piece: Piece, ground: str) -> tuple[str, str]:
    style = piece.ink.style if isinstance(piece.ink, Clickable) else str(piece.ink)
    return drawn(piece.text), f"{style} {ground}".strip()
