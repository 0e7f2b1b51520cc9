"""vi's keys in a composer: what a key means is asked of `vi`, and done with the text area."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from textual.events import Key

from specchat.tui.widgets.composer import Composer, index_of, location_of
from specchat.tui.widgets.vi import Act, Edit, Move, Rows, Undo, Vi, press


class ViKeys:
    """The keys of one composer. `on_mode` is called when the mode has changed."""

    def __init__(self, composer: Composer, on_mode: Callable[[], None]) -> None:
        self._composer = composer
        self._on_mode = on_mode
        self._vi = Vi()

    @property
    def inserting(self) -> bool:
        """Whether keys write text."""
        return self._vi.inserting

    def insert(self) -> None:
        """Goes back to writing."""
        self._turn(replace(self._vi, inserting=True, begun=""))

    def takes_key(self, event: Key) -> bool:
        """Does what a key means. Returns False if it is not one of vi's.

        Terminals send Alt with a letter as Esc and the letter, and tmux does so for both typed quickly. So it is both.
        """
        printable = event.character if event.is_printable and event.character is not None else ""
        if self.inserting and printable and event.key.startswith("alt+"):
            self._press("escape")
        return self._press(printable or event.key)

    def _press(self, key: str) -> bool:
        composer = self._composer
        pressed = press(self._vi, key, composer.text, index_of(composer.text, composer.cursor_location))
        if pressed is None:
            return False
        self._turn(pressed.vi)
        if pressed.act is not None:
            self._do(pressed.act)
        if not self.inserting:
            self._stay_on_text()
        return True

    def _turn(self, vi: Vi) -> None:
        changed = vi.inserting != self._vi.inserting
        self._vi = vi
        if changed:
            self._composer.history.checkpoint()
            self._on_mode()

    def _do(self, act: Act) -> None:
        composer = self._composer
        match act:
            case Move(cursor):
                composer.move_cursor(location_of(composer.text, cursor))
            case Rows(steps):
                for _ in range(min(abs(steps), composer.wrapped_document.height)):
                    if steps > 0:
                        composer.action_cursor_down()
                    else:
                        composer.action_cursor_up()
            case Undo(again):
                if again:
                    composer.redo()
                else:
                    composer.undo()
            case Edit():
                self._edit(act)

    def _edit(self, edit: Edit) -> None:
        """Edits as one step that can be undone. A label that is touched goes as a whole, and is kept as a whole."""
        composer, text = self._composer, self._composer.text
        composer.history.checkpoint()
        ends = location_of(text, edit.start), location_of(text, edit.end)
        result = composer.replace(edit.text, *ends, maintain_selection_offset=False)
        composer.history.checkpoint()
        if len(result.replaced_text) > edit.end - edit.start:
            self._vi = replace(self._vi, kept=result.replaced_text)
        at = result.end_location if edit.cursor is None else location_of(composer.text, edit.cursor)
        composer.move_cursor(at)

    def _stay_on_text(self) -> None:
        """Keeps the cursor on a character while keys are commands."""
        row, column = self._composer.cursor_location
        length = len(self._composer.document.get_line(row))
        if length and column >= length:
            self._composer.move_cursor((row, length - 1))
