"""Messages chosen by keys: what is chosen is marked at its left edge, and keys say what to do with it."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.tui.widgets.answer import Answer
from specchat.tui.widgets.entries_view import EntriesView
from specchat.tui.widgets.entry import Entry
from specchat.tui.widgets.message import UserMessage
from specchat.tui.widgets.message_actions import MessageActions

_ON_ANSWERS = ("regenerate", "inspect", "play", "tokens", "thoughts")
_ON_MESSAGES = {"edit": UserMessage} | dict.fromkeys(_ON_ANSWERS, Answer)


class Selecting(EntriesView, can_focus=True):
    """Selects entries; in an answer whose tokens are known, a cursor goes from token to token."""

    FOCUS_ON_CLICK = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "step(-1)", "Up", show=False, id="messages.step_back"),
        Binding("down", "step(1)", "Down", show=False, id="messages.step_on"),
        Binding("left", "sideways(-1)", "Previous", show=False, id="messages.sideways_back"),
        Binding("right", "sideways(1)", "Next", show=False, id="messages.sideways_on"),
        Binding("end", "end", "To the end", show=False, id="messages.end"),
        Binding("c", "copy_message", "Copy", id="messages.copy_message"),
        Binding("b", "copy_code", "Copy code", id="messages.copy_code"),
        Binding("e", "edit", "Edit", id="messages.edit"),
        Binding("r", "regenerate", "Again", id="messages.regenerate"),
        Binding("n", "branch", "Branch", id="messages.branch"),
        Binding("t", "tokens", "Tokens", id="messages.tokens"),
        Binding("o", "thoughts", "Thoughts", id="messages.thoughts"),
        Binding("i", "inspect", "Inspect", id="messages.inspect"),
        Binding("p", "play", "Play", id="messages.play"),
        Binding("x", "export", "Export", id="messages.export"),
        Binding("escape", "leave", "Back", id="messages.leave"),
    ]

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002
        super().__init__(id=id)
        self._code = 0

    @property
    def marks_tokens(self) -> bool:
        """Whether the arrows go from token to token."""
        return isinstance(self.selected, Answer) and self.selected.cursor is not None

    def on_focus(self) -> None:
        """Coming here selects the latest message, unless one is selected."""
        if self.selected is None:
            self.action_select_message(-1)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What makes no sense for the selected entry is not offered."""
        if action == "copy_code":
            return self.selected is not None and "```" in self.selected.raw
        if action == "thoughts":
            return isinstance(self.selected, Answer) and self.selected.has_thoughts
        kind = _ON_MESSAGES.get(action)
        return kind is None or isinstance(self.selected, kind)

    def select(self, entry: Entry | None) -> None:
        """Marks an entry and brings it into view."""
        if entry is not self.selected:
            self._stop_cursor()
            self.selected, self._code = entry, 0
            self._strips.clear()
            self.post_message(MessageActions.Selected(entry))
            self.refresh_bindings()
        if entry is not None:
            self.show_row(self.entries.index(entry))
        self.refresh()

    def leave(self) -> None:
        """Nothing is selected any more."""
        if self.selected is not None:
            self.select(None)

    def action_select_message(self, steps: int) -> None:
        """The message above (-1) or below (+1); below the last one, back to the prompt."""
        candidates = [entry for entry in self.entries if entry.can_be_selected]
        if not candidates:
            self.action_leave()
            return
        if self.selected is None:
            self.select(candidates[-1])
            return
        place = candidates.index(self.selected) + steps
        if place >= len(candidates):
            self.action_leave()
        else:
            self.select(candidates[max(0, place)])

    def action_step(self, steps: int) -> None:
        """Another message, or in the token mode another round."""
        if isinstance(self.selected, Answer) and self.selected.cursor is not None:
            self.selected.cursor.move_rounds(steps)
            self._show_token(self.selected)
        else:
            self.action_select_message(steps)

    def action_sideways(self, steps: int) -> None:
        """Another version of the message, or in the token mode another token."""
        if isinstance(self.selected, Answer) and self.selected.cursor is not None:
            self.selected.cursor.move(steps)
            self._show_token(self.selected)
        elif isinstance(self.selected, Answer | UserMessage) and self.selected.siblings.several:
            self.post_message(MessageActions.Sibling(self.selected, steps))

    def action_end(self) -> None:
        """The end of the conversation."""
        self.follow()

    def action_tokens(self) -> None:
        """Begins or ends going from token to token."""
        if not isinstance(self.selected, Answer):
            return
        if self.selected.cursor is not None:
            self._stop_cursor()
        elif self.selected.start_cursor() is not None:
            self._show_token(self.selected)

    def action_copy_message(self) -> None:
        """Asks for the message to be copied."""
        if self.selected is not None:
            self.post_message(MessageActions.Copy(self.selected, self.selected.raw))

    def action_copy_code(self) -> None:
        """Asks for a block of code to be copied, the next one at each press."""
        codes = self.selected.codes if self.selected is not None else ()
        if self.selected is not None and codes:
            self._code = self._code % len(codes) + 1
            text = codes[self._code - 1]
            self.post_message(MessageActions.CopyCode(self.selected, text, self._code, len(codes)))

    def action_edit(self) -> None:
        """Asks for the message to be edited."""
        if self.selected is not None:
            self.post_message(MessageActions.Edit(self.selected))

    def action_regenerate(self) -> None:
        """Asks for another answer."""
        if self.selected is not None:
            self.post_message(MessageActions.Regenerate(self.selected))

    def action_branch(self) -> None:
        """Asks for a branch."""
        if self.selected is not None:
            self.post_message(MessageActions.Branch(self.selected))

    def action_inspect(self) -> None:
        """Asks for the tokens to be looked at, the marked one first."""
        if isinstance(self.selected, Answer):
            cursor = self.selected.cursor
            place = (cursor.round_index, cursor.place) if cursor is not None else (None, None)
            self.post_message(MessageActions.Inspect(self.selected, *place))

    def action_play(self) -> None:
        """Asks for the answer to be played back."""
        if isinstance(self.selected, Answer):
            self.post_message(MessageActions.Play(self.selected))

    def action_export(self) -> None:
        """Asks for the conversation to be written to a file."""
        if self.selected is not None:
            self.post_message(MessageActions.Export(self.selected))

    def action_thoughts(self) -> None:
        """Opens or folds what was thought."""
        if isinstance(self.selected, Answer):
            self.selected.toggle_thought()

    def action_leave(self) -> None:
        """From the tokens to the message, from the message to the prompt."""
        if self.marks_tokens:
            self._stop_cursor()
        else:
            self.leave()
            self.post_message(MessageActions.Left())

    def _stop_cursor(self) -> None:
        if isinstance(self.selected, Answer) and self.selected.cursor is not None:
            self.selected.stop_cursor()

    def _show_token(self, answer: Answer) -> None:
        cursor, row = answer.cursor, answer.marked_row()
        self._strips.clear()
        if row is not None:
            self.show_row(self.entries.index(answer), row)
        if cursor is not None:
            self.post_message(MessageActions.TokenMarked(answer, cursor.round_index, cursor.place))
        self.refresh()
