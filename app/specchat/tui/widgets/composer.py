"""A text area for fast hands: keys land in the order in which they were typed, and long pastes stand behind labels."""

from __future__ import annotations

from typing import ClassVar

from rich.text import Text
from textual.binding import Binding, BindingType
from textual.events import Key, Paste
from textual.widgets import TextArea
from textual.widgets.text_area import Edit, EditResult, Location, Selection

from specchat.chat.history import Entry
from specchat.terminal.filter import clean
from specchat.tui.pasting import Folds, pasted_text

_SCREENS_KEYS = ("f6", "f7")
"""Keys that a text area has and that are the screen's here: they select, as Shift with the arrows does."""
_RETURN = "\r"
"""Enter with a modifier, where a terminal tells in xterm's way, as tmux does: Textual has no name for such a key."""


class Composer(TextArea, inherit_bindings=False):
    """What the user writes. A label is one thing: the cursor passes over it, and deleting a part takes all of it."""

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
        """Whether a key was used before it could do what it usually does."""
        return False

    async def on_key(self, event: Key) -> None:
        """Does at once what a key is bound to.

        Textual's own way runs the action after keys that came later, and fast typing would be mixed up.
        """
        await self.ready_for_input()
        if self.takes_key(event):
            handled = True
        elif event.character == _RETURN and event.key != "enter":
            self.action_new_line()
            handled = True
        elif event.is_printable:
            return
        else:
            active = self.screen.active_bindings.get(event.key)
            mine = active is not None and active.node is self
            handled = active is not None and mine and await self.app.run_action(active.binding.action, self)
        if handled or event.key == "enter":
            event.stop()
            event.prevent_default()

    async def on_paste(self, event: Paste) -> None:
        """Takes a paste without what a terminal would obey."""
        event.stop()
        event.prevent_default()
        await self.ready_for_input()
        self.paste(event.text)

    def paste(self, text: str) -> None:
        """Puts a text in the selection's place, a long one behind a label."""
        result = self.replace(self._folds.fold(pasted_text(text)), *self.selection, maintain_selection_offset=False)
        self.move_cursor(result.end_location)

    def action_paste(self) -> None:
        """Pastes what was copied in this app."""
        self.paste(self.app.clipboard)

    def action_new_line(self) -> None:
        """Starts a new line."""
        self.insert("\n")

    def entry(self) -> Entry:
        """What is written, as the history keeps it."""
        text = self.text.strip()
        return Entry(text, self._folds.used_in(text))

    def write(self, text: str, pasted: tuple[tuple[str, str], ...] = ()) -> None:
        """Replaces what is written; the cursor stands at its end."""
        self._folds = Folds(pasted)
        self.load_text(clean(text))
        self.move_cursor(self.document.end)

    def selected_in_full(self) -> str:
        """The selected text with what its labels stand for."""
        return self._folds.unfolded(self.selected_text)

    def edit(self, edit: Edit) -> EditResult:
        """An edit that touches a part of a label takes all of it."""
        top, bottom = edit.top, edit.bottom
        low, high = self._label_around(top), self._label_around(bottom)
        if low is not None or high is not None:
            empty = top == bottom
            edit.from_location = top if low is None else low[empty]
            edit.to_location = bottom if high is None else high[1]
        return super().edit(edit)

    def validate_selection(self, selection: Selection) -> Selection:
        """The cursor never stands inside a label."""
        before = self.selection.end
        return Selection(*(self._beside_label(place, before) for place in selection))

    def get_line(self, line_index: int) -> Text:
        """The line, its labels in a style of their own."""
        line = super().get_line(line_index)
        for start, end in self._folds.spans(line.plain):
            line.stylize(self.get_component_rich_style("composer--pasted", partial=True), start, end)
        return line

    def _beside_label(self, place: Location, before: Location) -> Location:
        label = self._label_around(place)
        if label is None:
            return place
        return label[1] if place >= before else label[0]

    def _label_around(self, place: Location) -> tuple[Location, Location] | None:
        """The ends of the label that a place is inside of."""
        row, column = place
        if row >= self.document.line_count:
            return None
        for start, end in self._folds.spans(self.document.get_line(row)):
            if start < column < end:
                return (row, start), (row, end)
        return None
