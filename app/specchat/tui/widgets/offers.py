"""The popup above the prompt: completions of a word, or a search through the history. Only one of them at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual.events import Key

from specchat.chat.commands.completion import Completion, complete, is_open_ended
from specchat.chat.controller import Sources
from specchat.chat.history import HistoryEntry, HistorySearch
from specchat.terminal.filter import clean_line
from specchat.tui.widgets.composer import Composer
from specchat.tui.widgets.popup import Popup


@dataclass(frozen=True, slots=True)
class Menu:
    """Completions of a text at a cursor. One of them is `chosen`; `moved` says whether the user moved there."""

    text: str
    cursor: int
    items: tuple[Completion, ...]
    chosen: int = 0
    moved: bool = False

    def turned(self, steps: int) -> Menu:
        """The menu with the item `steps` places further chosen, around the end."""
        return replace(self, chosen=(self.chosen + steps) % len(self.items), moved=True)

    def at(self, index: int) -> Menu:
        """The menu with this item chosen."""
        return replace(self, chosen=index, moved=True)

    @property
    def completion(self) -> Completion:
        """The chosen completion."""
        return self.items[self.chosen]

    @property
    def takes_enter(self) -> bool:
        """Whether Enter takes the chosen item. It does not if the typed word is complete or may be anything."""
        return self.moved or not (self._is_complete or is_open_ended(self.text))

    @property
    def _is_complete(self) -> bool:
        """Whether the typed word is one of the items, or an optional argument."""
        typed = self.text[self.completion.start : self.completion.end]
        return not typed or any(item.text.strip() == typed for item in self.items)


def menu_at(text: str, cursor: int, sources: Sources) -> Menu | None:
    """The completions here; None if there are none or if they would change nothing."""
    items = tuple(complete(text, cursor, sources))
    if not items or (len(items) == 1 and items[0].applied(text)[0].rstrip() == text.rstrip()):
        return None
    return Menu(text, cursor, items)


_STEPS = {"up": -1, "down": 1}
_SEARCH_HINT = "ctrl+r older · enter takes · esc back"


class Offers:
    """What the popup of a composer offers. It is updated before each key is handled, however fast keys come."""

    def __init__(self, composer: Composer, sources: Callable[[], Sources] | None) -> None:
        self.popup = Popup(composer)
        self._composer = composer
        self._sources = sources
        self._menu: Menu | None = None
        self._search: HistorySearch | None = None
        self._seen: tuple[str, int] | None = None
        self._closed_at: int | None = None

    @property
    def is_searching(self) -> bool:
        """Whether the history is searched."""
        return self._search is not None

    def update(self) -> None:
        """Offer completions of the word at the cursor, if it has changed."""
        if self._search is not None or self._sources is None or not self._composer.has_focus:
            return
        text, cursor = self._place_in_text()
        if (text, cursor) == self._seen:
            return
        self._seen = text, cursor
        menu = menu_at(text, cursor, self._sources()) if text.startswith("/") or "@" in text else None
        if menu is None or menu.completion.start != self._closed_at:
            self._closed_at = None
            self._show(menu)
        else:
            self._show(None)

    def search(self, entries: Sequence[HistoryEntry]) -> None:
        """Begin to search the entries, or go on to an older match."""
        if self._search is None:
            self._menu = None
            self._look(HistorySearch(entries, self._composer.entry()))
        else:
            self._look(self._search.moved(1))

    def takes_key(self, event: Key) -> bool:
        """Handle a key. Returns whether it moved in the list, took an item, or closed the list."""
        if self._search is not None:
            return self._takes_search_key(event, self._search)
        self.update()
        if self._menu is None:
            return False
        if event.key in _STEPS:
            self.turn(_STEPS[event.key])
        elif event.key == "tab" or (event.key == "enter" and self._menu.takes_enter):
            self._take(self._menu)
        elif event.key == "escape":
            self._closed_at = self._menu.completion.start
            self._show(None)
        else:
            return False
        return True

    def turn(self, steps: int) -> None:
        """Choose another item."""
        if self._search is not None:
            self._look(self._search.moved(steps))
        elif self._menu is not None:
            self._show(self._menu.turned(steps))

    def pick(self, index: int) -> None:
        """Take the item at this place."""
        if self._search is not None:
            self._look(self._search.moved(index - self._search.position))
            self.close()
        elif self._menu is not None:
            self._take(self._menu.at(index))

    def close(self) -> None:
        """Offer nothing. A search leaves the entry it found in the composer."""
        self._search = None
        self._seen = self._place_in_text()
        self._show(None)

    def place(self) -> None:
        """Move with the composer."""
        if self.popup.display:
            self.popup.place(self._composer.region)

    def _takes_search_key(self, event: Key, search: HistorySearch) -> bool:
        active = self._composer.screen.active_bindings.get(event.key)
        if active is not None and active.binding.action == "search_history":
            return False
        if event.is_printable and event.character is not None:
            self._look(search.looking_for(search.query + event.character))
        elif event.key == "backspace":
            self._look(search.looking_for(search.query[:-1]))
        elif event.key in _STEPS:
            self.turn(_STEPS[event.key])
        elif event.key == "escape":
            self._composer.write(search.draft.text, search.draft.pasted)
            self.close()
        else:
            self.close()
            return event.key in ("enter", "tab")
        return True

    def _look(self, search: HistorySearch) -> None:
        changed = self._search is None or search.shown != self._search.shown
        self._search = search
        if changed:
            self._composer.write(search.shown.text, search.shown.pasted)
        rows = [(clean_line(entry.text), "") for entry in search.matches]
        chosen = search.position if rows else -1
        if not rows:
            rows = [("no match in the history" if search.query else "type to search", "")]
        title = clean_line(f"history: {search.query}")
        self.popup.show(rows, chosen, self._composer.region, title=title, hint=_SEARCH_HINT)

    def _show(self, menu: Menu | None) -> None:
        self._menu = menu
        if menu is None:
            self.popup.hide()
        else:
            rows = [(clean_line(item.text), item.help) for item in menu.items]
            hint = "tab takes · esc closes"
            self.popup.show(rows, menu.chosen, self._composer.region, hint=hint)

    def _take(self, menu: Menu) -> None:
        """Replace the word with the chosen completion."""
        completion = menu.completion
        row, column = self._composer.cursor_location
        offset = column - menu.cursor
        start, end = (row, completion.start + offset), (row, completion.end + offset)
        result = self._composer.replace(completion.text, start, end, maintain_selection_offset=False)
        self._composer.move_cursor(result.end_location)
        self.update()

    def _place_in_text(self) -> tuple[str, int]:
        """The line of the cursor and the column in it. Lines that cannot begin a command start with a blank."""
        row, column = self._composer.cursor_location
        line = self._composer.document.get_line(row)
        if not (row == 0 and line.startswith("/")) and "@" not in line:
            return "", 0
        return (line, column) if row == 0 else (f" {line}", column + 1)
