"""Where the user writes: messages, slash commands, files after an @, and earlier messages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from textual.binding import Binding, BindingType
from textual.events import Blur, Key, Resize
from textual.message import Message

from specchat.chat.attachments import Attachment, images_of, pages_named, sizes_of, with_attachments
from specchat.chat.commands.command import Invocation, Refusal
from specchat.chat.commands.registry import message_text, parse
from specchat.chat.controller import Sources
from specchat.chat.history import HistoryEntry, HistoryWalk, PromptHistory
from specchat.chat.mentions import pasted_mention
from specchat.chat.variables import variables
from specchat.store.images import StoredImage
from specchat.terminal.clipboard import reachable
from specchat.tui.widgets.composer import Composer
from specchat.tui.widgets.handover import Handover
from specchat.tui.widgets.image_paste import ImagePaste
from specchat.tui.widgets.mention_reader import Attaching
from specchat.tui.widgets.offers import Offers
from specchat.tui.widgets.popup import Popup

if TYPE_CHECKING:
    from specchat.tui.widgets.vi_keys import ViKeys

_CHORD, _AFTER_CHORD = "ctrl+x", "ctrl+e"
"""Together they open the editor, as in a shell."""

_PLACEHOLDER = "Ask something. Enter sends, Ctrl+J starts a new line."
_PLACEHOLDER_WITH_COMMANDS = "Ask something. / commands, @ files, Ctrl+J new line."


class PromptInput(Composer):
    """A text area that grows to six rows, completes words, and remembers what was sent.

    `sources` returns what commands can name; without it a slash and an @ are only text. While the prompt is empty, it
    leaves the keys in `spared` to the screen.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "send", "Send", show=False, id="prompt.send"),
        Binding("alt+e", "edit_outside", "Write in the editor", show=False, id="prompt.editor"),
        Binding("alt+v", "paste_image", "Paste an image", show=False, id="prompt.paste_image"),
        Binding("ctrl+r", "search_history", "Search what was sent", show=False, id="prompt.search"),
        Binding("pageup", "scroll_transcript('page_up')", "Scroll up", show=False, id="prompt.page_up"),
        Binding("pagedown", "scroll_transcript('page_down')", "Scroll down", show=False, id="prompt.page_down"),
        Binding("ctrl+home", "scroll_transcript('home')", "To the beginning", show=False, id="prompt.beginning"),
        Binding("ctrl+end", "scroll_transcript('end')", "To the end", show=False, id="prompt.end"),
    ]

    class Submitted(Message):
        """The user sent a message: `text` includes pastes and attached files, `shown` is as it was typed.

        `entry` is what the history keeps, and `images` are those that the message names.
        """

        def __init__(
            self,
            text: str,
            shown: str = "",
            entry: HistoryEntry | None = None,
            images: tuple[StoredImage, ...] = (),
        ) -> None:
            super().__init__()
            self.images = images
            self.text = text
            self.shown = shown
            self.entry = entry or HistoryEntry(shown or text)

    class Commanded(Message):
        """The user gave a command."""

        def __init__(self, invocation: Invocation[Any]) -> None:
            super().__init__()
            self.invocation = invocation

    class Refused(Message):
        """The text cannot be sent; it stays in the prompt."""

        def __init__(self, reason: str) -> None:
            super().__init__()
            self.reason = reason

    class PagesNamed(Message):
        """The message names pages, which are fetched if the user agrees: `fetch` does this and sends the message."""

        def __init__(self, pages: tuple[str, ...], fetch: Callable[[], None]) -> None:
            super().__init__()
            self.pages = pages
            self.fetch = fetch

    class ModeChanged(Message):
        """The mode of vi's keys: insert, normal, or empty if they are off."""

        def __init__(self, mode: str) -> None:
            super().__init__()
            self.mode = mode

    class EditorWanted(Message):
        """The user wants to write the message in their own editor."""

    class Scrolled(Message):
        """The user wants to see another part of the transcript: page_up, page_down, home or end."""

        def __init__(self, where: str) -> None:
            super().__init__()
            self.where = where

    class Spared(Message):
        """The user pressed a key that the prompt leaves to the screen."""

        def __init__(self, key: str) -> None:
            super().__init__()
            self.key = key

    def __init__(self, sources: Callable[[], Sources] | None = None, history: PromptHistory | None = None) -> None:
        super().__init__(_PLACEHOLDER if sources is None else _PLACEHOLDER_WITH_COMMANDS)
        self._sources = sources
        self._history = PromptHistory() if history is None else history
        self._recall: HistoryWalk | None = None
        self._offers = Offers(self, sources)
        self.spared: frozenset[str] = frozenset()
        self.left_to_queue: frozenset[str] = frozenset()
        """Keys that an empty prompt leaves to the queued messages."""
        self.verbatim = False
        """Whether what is written is sent to the letter: no command, no attached file, no part of the history."""
        self._chord_begun = False
        self._filling = False
        """Whether variables of a stored prompt are left to fill in."""
        self._handover = Handover(self)
        self._attaching = Attaching(self, self._say)
        self._image_paste = ImagePaste(self, self._say)
        self._vi: ViKeys | None = None
        self._sent: tuple[str, HistoryEntry] | None = None

    def on_mount(self) -> None:
        """Adds the popup to the screen."""
        self.screen.mount(self._offers.popup)

    async def ready_for_input(self) -> None:
        """Waits until a sent message was taken or left, so that the next keys are not lost with it."""
        await self._handover.done()
        await self._image_paste.done()

    def takes_key(self, event: Key) -> bool:
        """The popup takes its keys first, then the screen those that are spared."""
        if self._attaching.running:
            if event.key == "escape":
                self._attaching.stop()
            return event.key in ("escape", "enter")
        chord_begun, self._chord_begun = self._chord_begun, False
        if chord_begun and event.key == _AFTER_CHORD:
            self.action_edit_outside()
            return True
        if chord_begun and event.key == _CHORD:
            super().action_cut()
            return True
        if self._may_offer(event) and self._offers.takes_key(event):
            return True
        if self._filling and event.key == "tab":
            self._filling = self.select_variable()
            return self._filling
        spared = event.key in self.spared | self.left_to_queue and not self.text
        if spared:
            self.post_message(self.Spared(event.key))
        return spared or (self._vi is not None and self._vi.takes_key(event))

    @property
    def has_vi_keys(self) -> bool:
        """Whether vi's keys are on."""
        return self._vi is not None

    def use_vi_keys(self, on: bool) -> None:
        """Takes the keys of vi, beginning in insert mode, or no longer does."""
        self._vi = None
        if on:
            from specchat.tui.widgets.vi_keys import ViKeys  # only for those who want them

            self._vi = ViKeys(self, self._mode_changed)
        self._mode_changed()

    def on_text_area_changed(self) -> None:
        """Offers completions."""
        if self._is_writing:
            self._offers.update()

    def on_text_area_selection_changed(self) -> None:
        """Offers completions of the word at the cursor."""
        if self._is_writing:
            self._offers.update()

    def on_popup_picked(self, message: Popup.Picked) -> None:
        """Takes the row that was clicked."""
        message.stop()
        self._offers.pick(message.place)

    def on_popup_turned(self, message: Popup.Turned) -> None:
        """Moves through the rows."""
        message.stop()
        self._offers.turn(message.steps)

    def on_resize(self, event: Resize) -> None:
        """Keeps the popup above the prompt."""
        self._offers.place()

    def on_blur(self, event: Blur) -> None:
        """Closes the popup."""
        self._offers.close()

    def taken(self) -> None:
        """Stores the message in the history and empties the prompt, because the screen took it."""
        self._remember(self._sent[1] if self._sent is not None else self.entry())
        self._handover.end()

    def give_back(self, text: str) -> bool:
        """Puts an unanswered message back, unless the user is writing another one. Returns whether it did."""
        if self.text:
            return False
        if self._sent is not None and self._sent[0] == text:
            self._write(self._sent[1])
        else:
            self.write(text)
        return True

    def write_verbatim(self, text: str) -> None:
        """Writes a text that is sent to the letter."""
        self.verbatim = True
        self.write(text)

    def unfolded(self) -> str:
        """The whole text, with pastes in place of their labels."""
        return self._folds.unfolded(self.text)

    def fill(self, text: str) -> bool:
        """Writes a stored prompt and selects its first variable. Returns False if there is none to fill in."""
        self.write(text)
        self.move_cursor((0, 0))
        self._filling = self.select_variable()
        if not self._filling:
            self.move_cursor(self.document.end)
        return self._filling

    def recall(self, entry: HistoryEntry) -> None:
        """Writes a message that was queued; a further Up goes on to the message before it."""
        self._write(entry)
        self._recall = HistoryWalk(self._history.entries)
        if self._history.entries and self._history.entries[-1] == entry:
            self._recall.older(entry)

    def paste(self, text: str) -> None:
        """Pastes a text; the path of a document or a picture, as of a file that is dropped, attaches it.

        Some terminals paste nothing if the clipboard has an image.
        """
        mention = pasted_mention(text, self._sources().folder) if self._sources is not None else None
        if mention is not None:
            self.insert_word(mention)
        elif text:
            super().paste(text)
        else:
            self.paste_image()

    def paste_image(self, otherwise: str = "") -> None:
        """Mentions the image in the clipboard. Without one, pastes the other text, or says what is missing."""
        if self._attaching.running:
            return
        if self._sources is None or self.verbatim:
            self._say("only a message takes images")
        else:
            self._image_paste.begin(otherwise)

    def action_paste_image(self) -> None:
        """Mentions the image in the clipboard."""
        self.paste_image()

    def action_paste(self) -> None:
        """Mentions the image in the clipboard; without one, pastes the text that was copied in this app."""
        copied = self.app.clipboard
        if copied and (self._sources is None or self.verbatim or not reachable()):
            super().action_paste()
        else:
            self.paste_image(copied)

    def action_send(self) -> None:
        """Sends the message or the command. A backslash at the end of a line starts a new line instead."""
        row, column = self.cursor_location
        line = self.document.get_line(row)
        backslashes = len(line) - len(line.rstrip("\\"))
        if column == len(line) and backslashes % 2:
            self.replace("\n", (row, column - 1), (row, column), maintain_selection_offset=False)
        elif self.text.strip():
            self._send(self.entry())

    def action_edit_outside(self) -> None:
        """Asks for the message to be written in the user's own editor."""
        self._offers.close()
        self.post_message(self.EditorWanted())

    def action_cut(self) -> None:
        """Cuts the selection; without one, waits for the second key of Ctrl+X Ctrl+E."""
        if self.selected_text:
            super().action_cut()
        else:
            self._chord_begun = True
            self._say("Ctrl+E opens your editor, Ctrl+X again cuts the line")

    def action_search_history(self) -> None:
        """Searches earlier messages; again for an older match."""
        self._offers.search(self._history.entries)

    def action_scroll_transcript(self, where: str) -> None:
        """Scrolls the transcript without leaving the prompt."""
        self.post_message(self.Scrolled(where))

    def action_cursor_up(self, select: bool = False) -> None:
        """Moves up; on the first line, to the previous message."""
        if select or self.verbatim or not self.cursor_at_first_line:
            super().action_cursor_up(select)
            return
        if self._recall is None:
            self._recall = HistoryWalk(self._history.entries)
        older = self._recall.older(self.entry())
        if older is None:
            super().action_cursor_up(select)
        else:
            self._write(older)

    def action_cursor_down(self, select: bool = False) -> None:
        """Moves down; on the last line, to the next message."""
        newer = None if select or not self.cursor_at_last_line or self._recall is None else self._recall.newer()
        if newer is None:
            super().action_cursor_down(select)
        else:
            self._write(newer)

    def action_copy(self) -> None:
        """Copies the selection; without one, the screen handles Ctrl+C."""
        if self.selected_text:
            self.app.copy_to_clipboard(self.selected_in_full())
        else:
            self.screen.call_next(self.screen.run_action, "copy_or_quit")

    def _say(self, words: str) -> None:
        """Notifies the screen, past the prompt's own messages, which may have to wait."""
        self.screen.post_message(self.Refused(words))

    @property
    def _is_writing(self) -> bool:
        """Whether keys write a message: not in vi's normal mode, and not in an answer."""
        return not self.verbatim and (self._vi is None or self._vi.inserting)

    def _may_offer(self, event: Key) -> bool:
        """Whether the popup may take a key. With vi's keys, Esc leaves insert mode and closes the popup as well."""
        return self._is_writing and (self._vi is None or event.key != "escape" or self._offers.is_searching)

    def _mode_changed(self) -> None:
        self._offers.close()
        self.post_message(self.ModeChanged("" if self._vi is None else "insert" if self._vi.inserting else "normal"))

    def _write(self, entry: HistoryEntry) -> None:
        self.write(entry.text, entry.pasted)

    def _send(self, entry: HistoryEntry) -> None:
        """Posts the command that is written, else the message. Asks once for variables that are left."""
        self._offers.close()
        filling, self._filling = self._filling, False
        if filling and (left := variables(entry.text)):
            self._say(f"not filled in: {', '.join(left)}. Enter again sends it like this")
            self.select_variable()
            return
        text = self._folds.unfolded(entry.text)
        shown = entry.text
        if self.verbatim:
            self._sent = text, entry
            self._handover.begin(self.Submitted(text, shown, entry))
            return
        if self._sources is not None and text.lstrip().startswith(("/", "!")):
            try:
                command = parse(text, self._sources())
            except Refusal as refusal:
                self._say(str(refusal))
                return
            if command is not None:
                self._remember(entry)
                self._handover.begin(self.Commanded(command))
                return
            text, shown = message_text(text), message_text(shown)
        if self._sources is None or "@" not in entry.text:
            self._submit(text, shown, entry)
            return

        def submit(attachments: Sequence[Attachment]) -> None:
            with_sizes = shown + "".join(f"\n[{size}]" for size in sizes_of(attachments))
            self._submit(with_attachments(text, attachments), with_sizes, entry, images_of(attachments))

        read = partial(self._attaching.begin, entry.text, self._sources().folder, submit)
        if pages := pages_named(entry.text):
            self.post_message(self.PagesNamed(pages, read))
        else:
            read()

    def _submit(self, text: str, shown: str, entry: HistoryEntry, images: tuple[StoredImage, ...] = ()) -> None:
        self._sent = text, entry
        self._handover.begin(self.Submitted(text, shown, entry, images))

    def _remember(self, entry: HistoryEntry) -> None:
        """Adds the entry to the history and empties the prompt."""
        if entry.text and not self.verbatim:
            self._history.add(entry)
        self.verbatim = False
        self._recall = None
        self.write("")
        if self._vi is not None:
            self._vi.insert()
