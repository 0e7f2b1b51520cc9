"""A list of items drawn as rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from textual.content import Content
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from specchat.terminal.filter import clean, clean_line
from specchat.terminal.pieces import MARKS

if TYPE_CHECKING:
    from specchat.models.suggestion import Suggestion  # it needs numpy, and the help does not

T = TypeVar("T")
Draw = Callable[[T, int], Content]

_NARROWEST = 20
_MATCH = "bold $text-warning"


def marked(excerpt: str) -> Content:
    """An excerpt on one line, with what is between the MARKS of a search in another style."""
    parts: list[tuple[str, str]] = []
    for index, part in enumerate(excerpt.split(MARKS[0])):
        matched, mark, rest = part.partition(MARKS[1])
        parts += [(_flat(matched), _MATCH), (_flat(rest), "")] if index and mark else [(_flat(part), "")]
    return Content.assemble(*parts)


def _flat(text: str) -> str:
    """A part of a line, on one line. Its spaces are kept."""
    return clean(text).replace("\n", " ").replace("\t", " ")


class Listing(OptionList, Generic[T]):
    """Shows `items` with one of them chosen. When the width changes, rows are drawn again and the choice is kept, also
    if it is none."""

    def __init__(self, draw: Draw[T], *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id, compact=True, markup=False)
        self._draw = draw
        self._items: list[T] = []

    @property
    def items(self) -> Sequence[T]:
        """The items."""
        return self._items

    @property
    def chosen(self) -> T | None:
        """The chosen item; None in an empty list."""
        index = self.highlighted
        return None if index is None or index >= len(self._items) else self._items[index]

    def show(self, items: Sequence[T], place: int | None = None) -> None:
        """Show other items. Choose the one at `place`, or else keep the position."""
        wanted = self.highlighted if place is None else place
        self._items = [*items]
        self._redraw(wanted or 0)

    def move(self, how: str) -> None:
        """Handle `cursor_up`, `cursor_down`, `page_up` or `page_down` for a widget that has the keyboard."""
        getattr(self, f"action_{how}")()

    def on_resize(self) -> None:
        """Draw the rows at the new width."""
        self.call_after_refresh(lambda: self._redraw(self.highlighted))

    def _redraw(self, wanted: int | None) -> None:
        width = max(self.scrollable_content_region.width, _NARROWEST)
        self.set_options([Option(self._draw(item, width)) for item in self._items])
        if self._items and wanted is not None:
            self.highlighted = min(wanted, len(self._items) - 1)


def row(width: int, sign: Content, left: str, *right: tuple[str, int], style: str = "") -> Content:
    """One line of exactly `width` cells: a sign, a name that may be cut, columns of fixed widths.

    Columns that would leave the name less than a third of the line are dropped, the last ones first.
    """
    columns = [*right]
    while columns and sum(size + 2 for _, size in columns) > 2 * width // 3:
        columns.pop()
    end = "".join(f"  {clean_line(text)[:size]:>{size}}" for text, size in columns)
    name = Content.assemble(sign, (clean_line(left), style))
    free = width - len(end)
    if name.cell_length > free:
        name = name.truncate(max(free, 1), ellipsis=True)
    return Content.assemble(name, " " * (free - name.cell_length), (end, "$quiet"))


def suggestion_row(suggestion: Suggestion, width: int) -> Content:
    """A known model or pair that fits this machine; a wide row has the reason, too."""
    columns = ((suggestion.download, 8), (suggestion.speed, 31), (suggestion.kind.short, 38))
    return row(width, Content("  "), suggestion.title, *columns, style="bold")
