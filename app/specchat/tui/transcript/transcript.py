"""The conversation: a view of entries, with keys that select a message and act on it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.events import Click
from textual.message import Message

from specchat.store.images import StoredImage
from specchat.terminal.pieces import OPEN_LINK
from specchat.tui.transcript.answer import TranscriptAnswer
from specchat.tui.transcript.body import TOGGLE_THOUGHT
from specchat.tui.transcript.entries import NEXT, PREVIOUS, TranscriptEntry, UserMessage, Welcome
from specchat.tui.transcript.painter import CLICK
from specchat.tui.transcript.summary_entry import SummaryEntry
from specchat.tui.transcript.thumbnail import SHOW_IMAGE
from specchat.tui.transcript.tool_entry import TOGGLE_CALL, ToolEntry
from specchat.tui.transcript.view import JUMP_TO_END, EntriesView

_FOR_ANSWERS = ("regenerate", "inspect", "explain", "play", "tokens", "thoughts")


class Transcript(EntriesView, can_focus=True):
    """Messages, answers and notices. In an answer with known rounds, a cursor can move from token to token."""

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Up", show=False, id="messages.step_back"),
        Binding("down", "step(1)", "Down", show=False, id="messages.step_on"),
        Binding("left", "sideways(-1)", "Previous", show=False, id="messages.sideways_back"),
        Binding("right", "sideways(1)", "Next", show=False, id="messages.sideways_on"),
        Binding("end", "end", "To the end", show=False, id="messages.end"),
        Binding("c", "copy_message", "Copy", id="messages.copy_message"),
        Binding("b", "copy_code", "Copy code", id="messages.copy_code"),
        Binding("e", "ask('edit')", "Edit", id="messages.edit"),
        Binding("r", "ask('regenerate')", "Again", id="messages.regenerate"),
        Binding("n", "ask('branch')", "Branch", id="messages.branch"),
        Binding("t", "tokens", "Tokens", id="messages.tokens"),
        Binding("o", "thoughts", "Thoughts", id="messages.thoughts"),
        Binding("o", "show_image", "Image", id="messages.image"),
        Binding("o", "open_call", "Open", id="messages.open_call"),
        Binding("i", "inspect", "Inspect", id="messages.inspect"),
        Binding("question_mark", "explain", "Explain", key_display="?", id="messages.explain"),
        Binding("p", "ask('play')", "Play", id="messages.play"),
        Binding("x", "ask('export')", "Export", id="messages.export"),
        Binding("escape", "leave", "Back", id="messages.leave"),
    ]

    @dataclass
    class OfEntry(Message):
        """What the user wants done with a `UserMessage` or a `TranscriptAnswer`, by its `key`."""

        entry: TranscriptEntry

    @dataclass
    class Request(OfEntry):
        """Edit the message, or regenerate, play or export the answer, or branch after it."""

        what: str

    @dataclass
    class Copy(OfEntry):
        """Copy a text; `what` names it."""

        text: str
        what: str = "message"

    @dataclass
    class Inspect(OfEntry):
        """Open the inspector at this token; both are None where no token is marked."""

        round_index: int | None = None
        place: int | None = None

    @dataclass
    class Explain(OfEntry):
        """Explain the figures of this answer, or the marked token; both are None where no token is marked."""

        round_index: int | None = None
        place: int | None = None

    @dataclass
    class Sibling(OfEntry):
        """Show the previous (-1) or next (+1) version of this message."""

        steps: int

    @dataclass
    class LinkClicked(Message):
        """A link in an answer was clicked. The address comes from a model: show it before opening it."""

        href: str

    @dataclass
    class ImageWanted(Message):
        """The user wants to see an image in full."""

        image: StoredImage

    class Left(Message):
        """The user goes back to the prompt."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._code = 0
        self.show_entries([Welcome()])

    def clear(self) -> None:
        """Show an empty conversation."""
        self.load(())

    def load(self, entries: Iterable[TranscriptEntry]) -> None:
        """Show the end of a whole conversation. Entries above are laid out when the user scrolls there."""
        self.leave()
        self.show_entries(list(entries) or [Welcome()])

    def add(self, entry: TranscriptEntry, *, follow: bool = False) -> None:
        """Add an entry at the end. With `follow`, go there even if the user had scrolled up."""
        if any(isinstance(there, Welcome) for there in self.entries):
            self.show_entries([])
        self.add_entry(entry, follow=follow)

    def remove_entry(self, entry: TranscriptEntry) -> None:
        """Remove an entry."""
        if entry is self.selected:
            self.leave()
        super().remove_entry(entry)

    def move(self, where: str) -> None:
        """Scroll: page_up, page_down, home or end."""
        match where:
            case "page_up":
                self.scroll_page_up(animate=False)
            case "page_down":
                self.scroll_page_down(animate=False)
            case "home":
                self.scroll_to(y=0, animate=False)
            case "end":
                self.follow()

    def answer_in_view(self) -> TranscriptAnswer | None:
        """The selected answer, else the lowest one in sight, else the latest."""
        if isinstance(self.selected, TranscriptAnswer):
            return self.selected
        bottom = self._stack.at(self._row + self.size.height - 1)
        above = [entry for entry in self.entries[: bottom + 1] if isinstance(entry, TranscriptAnswer)]
        answers = above or [entry for entry in self.entries if isinstance(entry, TranscriptAnswer)]
        return answers[-1] if answers else None

    @property
    def marks_tokens(self) -> bool:
        """Whether the arrows move from token to token."""
        return isinstance(self.selected, TranscriptAnswer) and self.selected.cursor is not None

    def on_focus(self) -> None:
        """Select the latest message, unless one is selected."""
        if self.selected is None:
            self.action_select_message(-1)

    def on_click(self, event: Click) -> None:
        """Do what the text at the pointer says: a link, a fold, another version, or the way to the end."""
        action, argument = event.style.meta.get(CLICK, ("", ""))
        entry = self.entry_at(event.y)
        if action == JUMP_TO_END:
            self.follow()
        elif action == OPEN_LINK:
            self.post_message(self.LinkClicked(argument))
        elif action == TOGGLE_THOUGHT and isinstance(entry, TranscriptAnswer | SummaryEntry):
            entry.toggle_thought(int(argument))
        elif action == SHOW_IMAGE and isinstance(entry, UserMessage):
            self._show_image(entry, argument)
        elif action == TOGGLE_CALL and isinstance(entry, ToolEntry):
            entry.toggle()
        elif action in (PREVIOUS, NEXT) and entry is not None:
            self.post_message(self.Sibling(entry, 1 if action == NEXT else -1))
        if action:
            event.stop()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer only actions that make sense for the selected entry."""
        if action == "copy_code":
            return self.selected is not None and "```" in self.selected.raw
        if action == "thoughts":
            return isinstance(self.selected, TranscriptAnswer | SummaryEntry) and self.selected.has_thoughts
        if action == "show_image":
            return isinstance(self.selected, UserMessage) and bool(self.selected.images)
        name = str(parameters[0]) if action == "ask" else action
        if name == "edit":
            return isinstance(self.selected, UserMessage | TranscriptAnswer)
        if name in ("open_call", "branch"):
            return isinstance(self.selected, ToolEntry) is (name == "open_call")
        return name not in _FOR_ANSWERS or isinstance(self.selected, TranscriptAnswer)

    def select(self, entry: TranscriptEntry | None) -> None:
        """Mark an entry and scroll to it; None marks nothing."""
        if entry is not self.selected:
            self._stop_cursor()
            self.selected, self._code = entry, 0
            self.refresh_bindings()
        if entry is not None:
            self.show_row(self.entries.index(entry))
        self.redraw()

    def mark_edited(self, entry: TranscriptEntry | None) -> None:
        """Mark the entry that is being changed in the prompt; None marks nothing."""
        if entry is not self.edited:
            self.edited = entry
            self.redraw()

    def leave(self) -> None:
        """Select nothing."""
        if self.selected is not None:
            self.select(None)

    def action_select_message(self, steps: int) -> None:
        """Select the message above (-1) or below (+1). Below the last one, go back to the prompt."""
        candidates = [entry for entry in self.entries if entry.can_be_selected]
        if not candidates:
            self.action_leave()
            return
        if self.selected is None:
            self.select(candidates[-1])
            return
        index = candidates.index(self.selected) + steps
        if index >= len(candidates):
            self.action_leave()
        else:
            self.select(candidates[max(0, index)])

    def action_step(self, steps: int) -> None:
        """Go to another message, or to another round while the token cursor is on."""
        if isinstance(self.selected, TranscriptAnswer) and self.selected.cursor is not None:
            self.selected.cursor.move_rounds(steps)
            self._show_token(self.selected)
        else:
            self.action_select_message(steps)

    def action_sideways(self, steps: int) -> None:
        """Show another version of the message, or go to another token while the token cursor is on."""
        if isinstance(self.selected, TranscriptAnswer) and self.selected.cursor is not None:
            self.selected.cursor.move(steps)
            self._show_token(self.selected)
        elif isinstance(self.selected, TranscriptAnswer | UserMessage) and self.selected.siblings.several:
            self.post_message(self.Sibling(self.selected, steps))

    def action_end(self) -> None:
        """Go to the end of the conversation."""
        self.follow()

    def action_tokens(self) -> None:
        """Turn the token cursor on or off."""
        if not isinstance(self.selected, TranscriptAnswer):
            return
        if self.selected.cursor is not None:
            self._stop_cursor()
        elif self.selected.start_cursor() is not None:
            self._show_token(self.selected)

    def action_copy_message(self) -> None:
        """Ask for the message to be copied."""
        if self.selected is not None:
            self.post_message(self.Copy(self.selected, self.selected.raw))

    def action_copy_code(self) -> None:
        """Ask for a code block to be copied: the first one, then the next at each key press."""
        codes = self.selected.codes if self.selected is not None else ()
        if self.selected is not None and codes:
            self._code = self._code % len(codes) + 1
            text = codes[self._code - 1]
            self.post_message(self.Copy(self.selected, text, f"code block {self._code} of {len(codes)}"))

    def action_ask(self, what: str) -> None:
        """Ask for something that the screen does with the selected entry."""
        if self.selected is not None:
            self.post_message(self.Request(self.selected, what))

    def action_inspect(self) -> None:
        """Ask for the inspector, at the marked token where there is one."""
        if isinstance(self.selected, TranscriptAnswer):
            self.post_message(self.Inspect(self.selected, *_marked(self.selected)))

    def action_explain(self) -> None:
        """Ask for an explanation of the answer's figures, or of the marked token."""
        if isinstance(self.selected, TranscriptAnswer):
            self.post_message(self.Explain(self.selected, *_marked(self.selected)))

    def action_thoughts(self) -> None:
        """Unfold or fold the answer's thoughts, or a summary."""
        if isinstance(self.selected, TranscriptAnswer | SummaryEntry):
            self.selected.toggle_thought()

    def action_show_image(self) -> None:
        """Ask for the first image of the message to be shown; a click on its name shows another one."""
        if isinstance(self.selected, UserMessage) and self.selected.images:
            self._show_image(self.selected, self.selected.images[0].sha256)

    def _show_image(self, message: UserMessage, sha256: str) -> None:
        for image in message.images:
            if image.sha256 == sha256:
                self.post_message(self.ImageWanted(image))
                return

    def action_open_call(self) -> None:
        """Unfold or fold a call and its result."""
        if isinstance(self.selected, ToolEntry):
            self.selected.toggle()

    def action_leave(self) -> None:
        """Go back: from the tokens to the message, from the message to the prompt."""
        if self.marks_tokens:
            self._stop_cursor()
        else:
            self.leave()
            self.post_message(self.Left())

    def _stop_cursor(self) -> None:
        if isinstance(self.selected, TranscriptAnswer) and self.selected.cursor is not None:
            self.selected.stop_cursor()

    def _show_token(self, answer: TranscriptAnswer) -> None:
        row = answer.marked_row()
        if row is not None:
            self.show_row(self.entries.index(answer), row)
        self.redraw()


def _marked(answer: TranscriptAnswer) -> tuple[int | None, int | None]:
    """The round and the place of the marked token."""
    cursor = answer.cursor
    return (cursor.round_index, cursor.place) if cursor is not None else (None, None)
