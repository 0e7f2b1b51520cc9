"""A text area for fast typing and long pastes: keys act in the order they were typed, labels stand for pastes."""

from __future__ import annotations

import re
from itertools import count
from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from specchat.chat.history import HistoryEntry
from specchat.chat.variables import variable_after
from specchat.terminal.filter import clean, without_sequences

_SCREENS_KEYS = ("f6", "f7")
"""Keys that select text in a text area. Here they are the screen's; Shift with the arrows selects too."""
_RETURN = "\r"
"""The character of Enter with a modifier in xterm's encoding, which tmux uses. Textual has no name for such keys."""

MOST_LINES = 20
MOST_CHARACTERS = 2_000
"""A paste above either limit is shown as a label."""


class Composer(TextArea, inherit_bindings=False):
    """What the user writes. The cursor passes over a label, and deleting a part of a label deletes all of it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *(
            binding
            for binding in TextArea.BINDINGS
            if isinstance(binding, Binding) and binding.key not in _SCREENS_KEYS
        ),
        Binding("ctrl+j,alt+enter,shift+enter", "new_line", "New line", show=False, id="prompt.new_line"),
        Binding("ctrl+underscore", "undo", "Undo", show=False, id="prompt.undo"),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {"composer--pasted"}
    DEFAULT_CSS: ClassVar[str] = "Composer .composer--pasted { color: $text-secondary; text-style: reverse; }"

    def __init__(self, placeholder: str) -> None:
        self._folds = Folds()
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder=placeholder,
        )
        self.cursor_blink = False

    async def ready_for_input(self) -> None:
        """Returns when keys and pastes may change the text."""

    def takes_key(self, event: Key) -> bool:
        """Whether a key was used before its usual action."""
        return False

    async def on_key(self, event: Key) -> None:
        """Runs the action of a key at once.

        Textual would run it after keys that came later, which mixes up fast typing.
        """
        await self.ready_for_input()
        if self.takes_key(event):
            handled = True
        elif event.character == _RETURN and event.key != "enter":
            self.action_new_line()
            handled = True
        elif event.is_printable and not event.key.startswith("alt+"):
            return
        else:
            active = self.screen.active_bindings.get(event.key)
            # Most terminals send Alt with a letter as Esc and the letter, which would be typed.
            mine = active is not None and (active.node is self or event.is_printable)
            handled = active is not None and mine and await self.app.run_action(active.binding.action, active.node)
        if handled or event.key == "enter":
            event.stop()
            event.prevent_default()

    async def on_paste(self, event: Paste) -> None:
        """Inserts a paste without control characters."""
        event.stop()
        event.prevent_default()
        await self.ready_for_input()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Replaces the selection with a text, or with a label if the text is long."""
        result = self.replace(
            self._folds.fold(without_sequences(text)), *self.selection, maintain_selection_offset=False
        )
        self.move_cursor(result.end_location)

    def insert_word(self, word: str) -> None:
        """Replaces the selection with a word, with blanks where it would touch others."""
        start, end = sorted(self.selection)
        before = self.document.get_line(start[0])[: start[1]]
        after = self.document.get_line(end[0])[end[1] :]
        begin = " " if before and not before[-1].isspace() else ""
        result = self.replace(
            f"{begin}{word}{'' if after[:1].isspace() else ' '}", start, end, maintain_selection_offset=False
        )
        self.move_cursor(result.end_location)

    def action_paste(self) -> None:
        """Pastes the text that was copied in this app."""
        self.paste(self.app.clipboard)

    def action_new_line(self) -> None:
        """Starts a new line."""
        self.insert("\n")

    def entry(self) -> HistoryEntry:
        """The text as the history stores it."""
        text = self.text.strip()
        return HistoryEntry(text, self._folds.used_in(text))

    def write(self, text: str, pasted: tuple[tuple[str, str], ...] = ()) -> None:
        """Replaces the text and moves the cursor to its end."""
        self._folds = Folds(pasted)
        self.load_text(clean(text))
        self.move_cursor(self.document.end)

    def select_variable(self) -> bool:
        """Selects the next `{{variable}}` after the cursor, or the first one. Returns False if there is none."""
        text = self.text
        span = variable_after(text, index_of(text, self.cursor_location))
        if span is not None:
            self.selection = Selection(*(location_of(text, index) for index in span))
        return span is not None

    def selected_in_full(self) -> str:
        """The selected text, with the texts that its labels stand for."""
        return self._folds.unfolded(self.selected_text)

    def edit(self, edit: Edit) -> EditResult:
        """Extends an edit that touches a part of a label to all of it."""
        top, bottom = edit.top, edit.bottom
        low, high = self._label_around(top), self._label_around(bottom)
        if low is not None or high is not None:
            empty = top == bottom
            edit.from_location = top if low is None else low[empty]
            edit.to_location = bottom if high is None else high[1]
        return super().edit(edit)

    def validate_selection(self, selection: Selection) -> Selection:
        """Keeps the cursor out of labels."""
        before = self.selection.end
        return Selection(*(self._beside_label(location, before) for location in selection))

    def get_line(self, line_index: int) -> Text:
        """The line, with its labels in a style of their own."""
        line = super().get_line(line_index)
        for start, end in self._folds.spans(line.plain):
            line.stylize(self.get_component_rich_style("composer--pasted", partial=True), start, end)
        return line

    def _beside_label(self, location: Location, before: Location) -> Location:
        label = self._label_around(location)
        if label is None:
            return location
        return label[1] if location >= before else label[0]

    def _label_around(self, location: Location) -> tuple[Location, Location] | None:
        """The ends of the label around a place."""
        row, column = location
        if row >= self.document.line_count:
            return None
        for start, end in self._folds.spans(self.document.get_line(row)):
            if start < column < end:
                return (row, start), (row, end)
        return None


def index_of(text: str, location: Location) -> int:
    """The place of a location in a text."""
    row, column = location
    return sum(len(line) + 1 for line in text.split("\n")[:row]) + column


def location_of(text: str, index: int) -> Location:
    """The row and the column of a place in a text."""
    before = text[:index]
    return before.count("\n"), index - (before.rfind("\n") + 1)


class Folds:
    """The long pastes of one message. A label such as `[pasted #1: 214 lines]` stands for each of them."""

    def __init__(self, pasted: tuple[tuple[str, str], ...] = ()) -> None:
        self._texts = dict(pasted)

    def fold(self, text: str) -> str:
        """The label for a long text; a short text as it is."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if lines <= MOST_LINES and len(text) <= MOST_CHARACTERS:
            return text
        size = f"{lines:,} lines" if lines > MOST_LINES else f"{len(text):,} characters"
        numbers = count(len(self._texts) + 1)
        label = next(label for number in numbers if (label := f"[pasted #{number}: {size}]") not in self._texts)
        self._texts[label] = text
        return label

    def unfolded(self, text: str) -> str:
        """The text with its labels replaced by what they stand for."""
        if not self._texts:
            return text
        return self._labels().sub(lambda match: self._texts[match[0]], text)

    def used_in(self, text: str) -> tuple[tuple[str, str], ...]:
        """The labels in a text, with the texts that they stand for."""
        return tuple((label, content) for label, content in self._texts.items() if label in text)

    def spans(self, line: str) -> list[tuple[int, int]]:
        """The first and last column of each label in a line."""
        if not self._texts or "[pasted" not in line:
            return []
        return [match.span() for match in self._labels().finditer(line)]

    def _labels(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._texts)))
