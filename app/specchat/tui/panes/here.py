"""The models on this machine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.models.cache import PART
from specchat.models.library import Entry
from specchat.models.wanted import Wanted
from specchat.tui.model_rows import entry_row, facts
from specchat.tui.panes.pane import Pane
from specchat.tui.panes.roles import Role

_MOST = 1000


class HerePane(Pane[Entry]):
    """What can be loaded at once. Enter loads a target, or a draft where one is wanted; F4 chooses a draft for it."""

    PLACEHOLDER = "type to filter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Load", priority=True, id="models.choose"),
        Binding("f4", "pick_draft", "Load with a draft", priority=True, id="models.pick_draft"),
        Binding("f5", "as_draft", "As the draft", priority=True, id="models.as_draft"),
    ]

    def __init__(
        self,
        models: Callable[[], list[Entry]],
        loaded: Sequence[Path],
        role: Role | None,
        wanted: Callable[[Entry], Wanted],
        *,
        id: str,  # noqa: A002
    ) -> None:
        """`models` blocks, and so does `wanted`, which tells the files of what has been downloaded in part."""
        super().__init__(id=id)
        self._models = models
        self._loaded = {path.resolve() for path in loaded}
        self._role = role
        self._wanted = wanted
        self._entries: list[Entry] = []

    def on_mount(self) -> None:
        """Reads what there is."""
        super().on_mount()
        self.read()

    def read(self) -> None:
        """Looks again."""
        self.ask("looking …", self._models, self._know)

    def row(self, item: Entry, width: int) -> Content:
        """One model."""
        return entry_row(item, width, loaded=item.path.resolve() in self._loaded)

    def about(self, item: Entry) -> Content:
        """What its header says."""
        return facts(item)

    def on_input_changed(self) -> None:
        """Leaves those that have all the words."""
        words = self.typed.lower().split()
        found = [entry for entry in self._entries if all(word in _words(entry) for word in words)]
        self.show(found[:_MOST], 0)
        self.say("" if found or not self._entries else "no model of this machine is called so: Tab leads to the hub")

    def choose(self) -> None:
        """Loads the model; one that has come in part is fetched on."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        if chosen.problem and chosen.path.name.endswith(PART):
            self.ask(
                f"asking the hub for {chosen.name} …",
                lambda: self._wanted(chosen),
                lambda wanted: self.post_message(self.Fetch(wanted)),
            )
        elif chosen.problem:
            self.say(f"{chosen.name} cannot be used: {chosen.problem}")
        elif self._role == "draft":
            self.post_message(self.Load(None, chosen.path))
        else:
            self.post_message(self.Load(chosen.path))

    def action_pick_draft(self) -> None:
        """Goes on to the drafts for this target."""
        self.after_typing(self._pick_draft)

    def action_as_draft(self) -> None:
        """Loads it as the draft of the present target."""
        self.after_typing(self._as_draft)

    def _pick_draft(self) -> None:
        if (chosen := self._usable()) is not None:
            self.post_message(self.PickDraft(chosen.path))

    def _as_draft(self) -> None:
        if (chosen := self._usable()) is not None:
            self.post_message(self.Load(None, chosen.path))

    def _usable(self) -> Entry | None:
        chosen = self.listing.chosen
        if chosen is not None and chosen.problem:
            self.say(f"{chosen.name} cannot be used: {chosen.problem}")
            return None
        return chosen

    def _know(self, entries: list[Entry]) -> None:
        self._entries = entries
        self.on_input_changed()
        if len(entries) <= 2:
            self.say("only the built-in pair so far: Tab leads to what is recommended, and to the hub")


def _words(entry: Entry) -> str:
    return f"{entry.name} {' '.join(entry.aliases)} {entry.quantisation} {entry.found.source}".lower()
