"""The downloads."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from specchat.errors import SpecchatError
from specchat.models.downloads import Downloads, DownloadView
from specchat.models.pull import PullState
from specchat.models.sizes import in_words
from specchat.terminal.filter import clean_line
from specchat.tui.model_rows import download_row
from specchat.tui.panes.pane import Pane

_LOOK = 0.25


class FetchingPane(Pane[DownloadView]):
    """What is being fetched, with keys to pause, go on, stop, and load what is here."""

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
        """Looks from time to time."""
        super().on_mount()
        self.look()
        self.set_interval(_LOOK, self.look)

    def row(self, item: DownloadView, width: int) -> Content:
        """One download."""
        return download_row(item, width)

    def about(self, item: DownloadView) -> Content:
        """Its files, what was told on the way, why it failed."""
        progress = item.progress
        lines = [
            Content.assemble(clean_line(file.path), (f"  {in_words(file.done)} of {in_words(file.size)}", "$quiet"))
            for file in progress.files
        ]
        lines += [Content(clean_line(notice)) for notice in progress.notices[-3:]]
        if progress.error:
            lines.append(Content.styled(clean_line(progress.error), "$text-error"))
        if item.resumable:
            kept = "What has arrived is kept: Enter goes on behind it, F7 takes it off the list."
            lines.append(Content.styled(kept, "$quiet"))
        return Content("\n").join(lines)

    def look(self) -> None:
        """Shows how far they are."""
        if not self.display:
            return
        views = self._downloads.views()
        if [*self.listing.items] != views:
            self.show(views)
        if self._any is not bool(views):
            self._any = bool(views)
            self.say("" if views else "nothing is being downloaded: Tab leads to what is recommended", calm=True)

    def choose(self) -> None:
        """Loads what is here, goes on with what is not."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        arrived = self._downloads.arrived(chosen.id)
        if arrived is not None:
            self.post_message(self.Load(arrived.target, arrived.draft))
        elif self._downloads.view(chosen.id).progress.state is PullState.RUNNING:
            self.say("it is not all here yet")
        else:
            self._resume(chosen)

    def action_pause(self) -> None:
        """Pauses, or goes on: also what failed or was stopped."""
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
        """Stops it; what has arrived is kept. One that has ended leaves the list."""
        chosen = self.listing.chosen
        if chosen is None:
            return
        if chosen.active:
            self._downloads.cancel(chosen.id)
            self.say("stopped; what has arrived is kept, and Enter goes on with it")
        else:
            self._downloads.forget(chosen.id)
            self.say("")
        self.look()
