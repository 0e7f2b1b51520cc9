"""The models on this machine, and the downloads."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.chat.commands.model import Role
from specchat.errors import SpecchatError
from specchat.models.cache import PART
from specchat.models.downloads import Downloads, DownloadView, Wanted
from specchat.models.labels import format_size
from specchat.models.library import LibraryModel
from specchat.models.pull import PullState
from specchat.terminal.filter import clean_line
from specchat.tui.panes.pane import Pane
from specchat.tui.widgets.model_rows import download_row, entry_row, facts

_MOST = 1000


class HerePane(Pane[LibraryModel]):
    """The models that can be loaded. Enter loads a target, or a draft if one is wanted; F4 chooses a draft for it."""

    PLACEHOLDER = "type to filter"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Load", id="models.choose"),
        Binding("f4", "pick_draft", "Load with a draft", id="models.pick_draft"),
        Binding("f5", "as_draft", "As the draft", id="models.as_draft"),
    ]

    def __init__(
        self,
        models: Callable[[], list[LibraryModel]],
        loaded: Sequence[Path],
        role: Role | None,
        wanted: Callable[[LibraryModel], Wanted],
        *,
        id: str,  # noqa: A002
    ) -> None:
        """`models` and `wanted` block. `wanted` finds the files of a model that was downloaded in part."""
        super().__init__(id=id)
        self._models = models
        self._loaded = {path.resolve() for path in loaded}
        self._role = role
        self._wanted = wanted
        self._entries: list[LibraryModel] = []
        self._words = ""

    def on_mount(self) -> None:
        """Read the models."""
        super().on_mount()
        self.read()

    def read(self) -> None:
        """Read the models again."""
        self.ask("looking …", self._models, self._know)

    def row(self, item: LibraryModel, width: int) -> Content:
        """One model."""
        return entry_row(item, width, loaded=item.path.resolve() in self._loaded)

    def about(self, item: LibraryModel) -> Content:
        """What its header says."""
        return facts(item)

    def on_input_changed(self) -> None:
        """Show the models that match what was typed."""
        if self.typed != self._words:
            self._filter()

    async def catch_up(self) -> None:
        """The same, before a key acts on the list."""
        self.on_input_changed()

    def _filter(self) -> None:
        """Show the models that match all words."""
        self._words = self.typed
        words = self._words.lower().split()
        matching = [entry for entry in self._entries if all(word in _words(entry) for word in words)]
        self.show(matching[:_MOST], 0)
        self.say("" if matching or not self._entries else "no model on this machine matches: Tab goes to the hub")

    def choose(self) -> None:
        """Load the model. Resume the download of an incomplete one."""
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
        """Choose a draft for this target."""
        if (chosen := self._usable()) is not None:
            self.post_message(self.PickDraft(chosen.path))

    def action_as_draft(self) -> None:
        """Load the model as the draft of the loaded target."""
        if (chosen := self._usable()) is not None:
            self.post_message(self.Load(None, chosen.path))

    def _usable(self) -> LibraryModel | None:
        chosen = self.listing.chosen
        if chosen is not None and chosen.problem:
            self.say(f"{chosen.name} cannot be used: {chosen.problem}")
            return None
        return chosen

    def _know(self, entries: list[LibraryModel]) -> None:
        self._entries = entries
        self._filter()
        if len(entries) <= 2:
            self.say("only the built-in pair so far: Tab goes to recommended pairs and the hub")


def _words(entry: LibraryModel) -> str:
    return f"{entry.name} {' '.join(entry.aliases)} {entry.quantisation} {entry.found.source}".lower()


_LOOK = 0.25


class FetchingPane(Pane[DownloadView]):
    """The downloads, with keys to pause, resume, stop and load them."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "choose", "Load, resume", priority=True, id="models.choose"),
        Binding("f6,space", "pause", "Pause, go on", priority=True, id="models.pause"),
        Binding("f7,delete", "cancel", "Stop", priority=True, id="models.cancel"),
    ]

    def __init__(self, downloads: Downloads, *, id: str) -> None:  # noqa: A002
        super().__init__(id=id)
        self._downloads = downloads
        self._any: bool | None = None

    def on_mount(self) -> None:
        """Update the list at intervals."""
        super().on_mount()
        self.look()
        self.set_interval(_LOOK, self.look)

    def row(self, item: DownloadView, width: int) -> Content:
        """One download."""
        return download_row(item, width)

    def about(self, item: DownloadView) -> Content:
        """Its files, its messages, and why it failed."""
        progress = item.progress
        lines = [
            Content.assemble(
                clean_line(file.path), (f"  {format_size(file.done)} of {format_size(file.size)}", "$quiet")
            )
            for file in progress.files
        ]
        lines += [Content(clean_line(notice)) for notice in progress.notices[-3:]]
        if progress.error:
            lines.append(Content.styled(clean_line(progress.error), "$text-error"))
        if item.resumable:
            resumes = "Enter resumes where it ended, F7 removes it from the list."
            lines.append(Content.styled(resumes, "$quiet"))
        return Content("\n").join(lines)

    def look(self) -> None:
        """Show the progress."""
        if not self.display:
            return
        views = self._downloads.views()
        if [*self.listing.items] != views:
            self.show(views)
        if self._any is not bool(views):
            self._any = bool(views)
            self.say("" if views else "no downloads yet: Recommended and Hub start them", calm=True)

    def choose(self) -> None:
        """Load a complete download, resume an incomplete one."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        arrived = self._downloads.arrived(chosen.id)
        if arrived is not None:
            self.post_message(self.Load(arrived.target, arrived.draft))
        elif self._downloads.view(chosen.id).progress.state is PullState.RUNNING:
            self.say("it is not complete yet")
        else:
            self._resume(chosen)

    def action_pause(self) -> None:
        """Pause or resume, also after a failure."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        if self._downloads.view(chosen.id).progress.state is PullState.RUNNING:
            self._downloads.pause(chosen.id)
            self.look()
        else:
            self._resume(chosen)

    def _resume(self, chosen: DownloadView) -> None:
        try:
            self._downloads.resume(chosen.id)
            self.say("")
        except SpecchatError as error:
            self.say(str(error))
        self.look()

    def action_cancel(self) -> None:
        """Stop the download and keep what has arrived. Remove one that has ended from the list."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        if chosen.active:
            self._downloads.cancel(chosen.id)
            self.say("stopped: Enter resumes where it ended")
        else:
            self._downloads.forget(chosen.id)
            self.say("")
        self.look()
