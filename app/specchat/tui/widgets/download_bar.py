"""A line above the prompt while models are downloaded, and for a while after that."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, ClassVar

from textual.timer import Timer
from textual.widgets import Static

from specchat.settings.paths import unfinished_file

if TYPE_CHECKING:
    from specchat.models.downloads import Arrived, Downloads, DownloadView, Wanted

_INTERVAL = 0.5
_STAYS = 60.0
"""Seconds for which the end of a download is shown."""


class LazyDownloads:
    """The app's downloads, created on first use because importing the Hugging Face library takes half a second."""

    def __init__(self) -> None:
        self._downloads: Downloads | None = None

    @property
    def all(self) -> Downloads:
        """All downloads."""
        if self._downloads is None:
            from specchat.models.downloads import Downloads

            self._downloads = Downloads()
        return self._downloads

    def views(self) -> list[DownloadView]:
        """The state of all downloads."""
        return self._downloads.views() if self._downloads else []

    def close(self) -> list[DownloadView]:
        """End all downloads. Returns those that are incomplete and can be resumed at the next start."""
        return self._downloads.close() if self._downloads else []


class DownloadBar(Static):
    """Shows the progress of the app's downloads. Hidden while there are none."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = "DownloadBar { height: 1; padding: 0 1; display: none; background: $panel; }"

    def __init__(self, downloads: LazyDownloads) -> None:
        super().__init__()
        self.downloads = downloads
        self._timer: Timer | None = None
        self._until = 0.0
        self._loaded: set[int] = set()

    def show_unfinished(self) -> None:
        """Show downloads that an earlier run left unfinished."""
        if unfinished_file().exists():
            self.run_worker(self._list_unfinished, thread=True)

    def start(self, wanted: Wanted) -> None:
        """Begin a download. Raises FetchError if the disk has too little space."""
        self.downloads.all.start(wanted)
        self.follow()

    def follow(self) -> None:
        """Show downloads that have begun."""
        if self._timer is None:
            self._timer = self.set_interval(_INTERVAL, self._draw)
        self._until = monotonic() + _STAYS
        self._draw()

    def resume(self) -> bool:
        """Resume the download that was interrupted last. Returns False if there is none.

        Raises FetchError if the disk has too little space.
        """
        for view in reversed(self.downloads.views()):
            if view.resumable:
                self.downloads.all.resume(view.id)
                self.follow()
                return True
        return False

    def take(self) -> Arrived | None:
        """The files of the last finished download that was not loaded yet."""
        for view in reversed(self.downloads.views()):
            arrived = None if view.id in self._loaded else self.downloads.all.arrived(view.id)
            if arrived is not None:
                self._loaded.add(view.id)
                self._draw()
                return arrived
        return None

    def _list_unfinished(self) -> None:
        """Runs in a thread, where it may import what downloads need."""
        if self.downloads.all.views():
            self.call_later(self.follow)

    def _draw(self) -> None:
        views = [view for view in self.downloads.views() if view.id not in self._loaded]
        if any(view.active for view in views):
            self._until = monotonic() + _STAYS
        elif not views or monotonic() > self._until:
            self.display = False
            if self._timer is not None:
                self._timer.stop()
                self._timer = None
            return
        from specchat.tui.widgets.model_rows import download_line

        self.display = True
        self.update(download_line(views, max(self.size.width, self.screen.size.width - 2)), layout=False)
