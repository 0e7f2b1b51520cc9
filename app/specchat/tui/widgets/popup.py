"""A few rows above the prompt, one of them chosen: completions of a word, or earlier messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.events import Click, MouseScrollDown, MouseScrollUp
from textual.geometry import Offset, Region
from textual.message import Message
from textual.widget import Widget

Row = tuple[str, str]
"""A text to choose, and a few words about it."""

_MOST_ROWS = 8
_NARROWEST = 24
_FRAME = 4


class Popup(Widget):
    """Floats above its owner, which gets its messages. It never has the focus."""

    DEFAULT_CSS: ClassVar[str] = """
    Popup {
        display: none;
        overlay: screen;
        constrain: inside inside;
        border: round $border;
        border-title-color: $primary;
        border-subtitle-color: $quiet;
        background: $surface;
        padding: 0 1;
        text-wrap: nowrap;
    }
    """

    class Picked(Message):
        """The user clicked on the row at this place."""

        def __init__(self, index: int) -> None:
            super().__init__()
            self.place = index

    class Turned(Message):
        """The user turned the wheel by a number of rows."""

        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

    def __init__(self, owner: Widget) -> None:
        super().__init__()
        self._owner = owner
        self._rows: Sequence[Row] = ()
        self._chosen = 0
        self._first = 0
        self._above = Region()

    def show(self, rows: Sequence[Row], chosen: int, above: Region, *, title: str = "", hint: str = "") -> None:
        """Shows as many rows as fit; `chosen` -1 marks none. All texts are free of control characters."""
        self._rows, self._chosen = rows, chosen
        self.border_title, self.border_subtitle = Content(title), Content(hint)
        self.display = True
        self.place(above)

    def hide(self) -> None:
        """Hides the popup."""
        self.display = False

    def place(self, above: Region) -> None:
        """Moves above this region, as wide as the rows and as high as there is room."""
        self._above = above
        count = max(1, min(len(self._rows), _MOST_ROWS, above.y - 2))
        chosen = max(self._chosen, 0)
        self._first = min(max(self._first, chosen - count + 1), chosen, max(len(self._rows) - count, 0))
        text, help_text = self._widths()
        frame = max(cell_len(str(self.border_title)), cell_len(str(self.border_subtitle))) + 2
        wanted = max(2 + text + (2 + help_text if help_text else 0), _NARROWEST, frame)
        self.styles.width = min(wanted + _FRAME, max(self.screen.size.width - above.x, _NARROWEST))
        self.styles.height = count + 2
        self.absolute_offset = Offset(max(above.x - 2, 0), above.y - count - 2)
        self.refresh(layout=True)

    def render(self) -> Content:
        """The visible rows, with the chosen one marked."""
        width, height = self.content_size
        room = max(width - 2, 1)
        text_width, help_width = self._widths()
        text_width = min(text_width, room if not help_width else max(room // 2, room - 2 - help_width))
        lines = []
        for index, (text, words) in enumerate(self._rows[self._first : self._first + height], self._first):
            row = set_cell_size(_end_of(text, text_width), text_width)
            rest = room - text_width - 2
            line = Content.assemble(
                "› " if index == self._chosen else "  ",
                row,
                (f"  {set_cell_size(words, rest)}" if rest > 0 else "", "$quiet"),
            )
            lines.append(line.stylize("bold $primary") if index == self._chosen else line)
        return Content("\n").join(lines)

    def on_click(self, event: Click) -> None:
        """Picks the row under the pointer."""
        event.stop()
        index = self._first + event.y - 1
        if 1 <= event.y <= self.content_size.height and index < len(self._rows):
            self._owner.post_message(self.Picked(index))

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Goes down."""
        event.stop()
        self._owner.post_message(self.Turned(1))

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Goes up."""
        event.stop()
        self._owner.post_message(self.Turned(-1))

    def _widths(self) -> tuple[int, int]:
        """The widest text and the widest words, in cells."""
        return (
            max((cell_len(text) for text, _ in self._rows), default=0),
            max((cell_len(words) for _, words in self._rows), default=0),
        )


def _end_of(text: str, width: int) -> str:
    """The text if it fits. A path that does not fit loses its beginning, another text its end."""
    if cell_len(text) <= width or "/" not in text.rstrip("/"):
        return text
    while text and cell_len(text) > width - 1:
        text = text[1:]
    return f"…{text}"
