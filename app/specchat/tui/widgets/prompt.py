"""Where the user writes: Enter sends, Ctrl+J or Alt+Enter starts a new line, Up goes back in history."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Key
from textual.message import Message
from textual.widgets import TextArea

_NEW_LINE_KEYS = ("ctrl+j", "alt+enter", "shift+enter")


class Prompt(TextArea):
    """A text area that grows to six rows and remembers what was sent."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("pageup", "scroll_transcript('page_up')", "Scroll up", show=False),
        Binding("pagedown", "scroll_transcript('page_down')", "Scroll down", show=False),
        Binding("ctrl+home", "scroll_transcript('home')", "To the beginning", show=False),
        Binding("ctrl+end", "scroll_transcript('end')", "To the end", show=False),
    ]

    @dataclass
    class Submitted(Message):
        """The user sent a message."""

        text: str

    @dataclass
    class Scrolled(Message):
        """The user wants to see another part of the transcript: page_up, page_down, home or end."""

        where: str

    def __init__(self) -> None:
        super().__init__(
            soft_wrap=True,
            show_line_numbers=False,
            tab_behavior="focus",
            highlight_cursor_line=False,
            placeholder="Ask something. Enter sends, Ctrl+J starts a new line.",
        )
        self.cursor_blink = False
        self._sent: list[str] = []
        self._place: int | None = None
        self._draft = ""

    def on_key(self, event: Key) -> None:
        """Enter sends, the text stays until the message was taken; other enters start a new line.

        Not by bindings: an action runs after keys that came later, and fast typing would be mixed up.
        """
        if event.key == "enter" and self.text.strip():
            self.post_message(self.Submitted(self.text.strip()))
        elif event.key in _NEW_LINE_KEYS:
            self.insert("\n")
        elif event.key != "enter":
            return
        event.stop()
        event.prevent_default()

    def taken(self) -> None:
        """The message was taken: remembers it and empties the prompt."""
        text = self.text.strip()
        if text and (not self._sent or self._sent[-1] != text):
            self._sent.append(text)
        self._place = None
        self.load_text("")

    def give_back(self, text: str) -> None:
        """Puts a message back that could not be answered, unless the user already writes another."""
        if not self.text:
            self._write(text)

    def action_scroll_transcript(self, where: str) -> None:
        """Scrolls the transcript without leaving the prompt."""
        self.post_message(self.Scrolled(where))

    def action_cursor_up(self, select: bool = False) -> None:
        """Moves up; on the first line, to the message sent before."""
        if select or not self.cursor_at_first_line or not self._sent or self._place == 0:
            super().action_cursor_up(select)
            return
        if self._place is None:
            self._draft = self.text
            self._place = len(self._sent)
        self._place -= 1
        self._write(self._sent[self._place])

    def action_cursor_down(self, select: bool = False) -> None:
        """Moves down; on the last line, to the message sent after."""
        if select or not self.cursor_at_last_line or self._place is None:
            super().action_cursor_down(select)
            return
        self._place += 1
        if self._place == len(self._sent):
            self._place = None
            self._write(self._draft)
        else:
            self._write(self._sent[self._place])

    def action_copy(self) -> None:
        """Copies the selection; without one Ctrl+C belongs to the screen."""
        if self.selected_text:
            self.app.copy_to_clipboard(self.selected_text)
        else:
            self.screen.call_next(self.screen.run_action, "copy_or_quit")

    def _write(self, text: str) -> None:
        self.load_text(text)
        self.move_cursor(self.document.end)
