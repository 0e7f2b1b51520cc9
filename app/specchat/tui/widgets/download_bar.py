"""One line above the prompt while models are being downloaded, and for a while when one has arrived."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING

from textual import work
from textual.timer import Timer
from textual.widgets import Static

from specchat.tui.downloading import downloading

if TYPE_CHECKING:
    from specchat.models.downloads import Arrived

_LOOK = 0.5
_STAYS = 60.0
"""Seconds that the end of a download stays in sight."""


class DownloadBar(Static):
    """Draws the app's downloads from time to time, while there are any."""

    ALLOW_SELECT = False
    DEFAULT_CSS = "DownloadBar { height: 1; padding: 0 1; display: none; background: $panel; }"

    def __init__(self) -> None:
        super().__init__()
        self._clock: Timer | None = None
        self._until = 0.0
        self._loaded: set[int] = set()
        self._recalled = False

    def recall(self) -> None:
        """Offers what an earlier run left unfinished, once: what that needs is imported in a thread."""
        from specchat.settings.paths import unfinished_file

        if not self._recalled and unfinished_file().exists():
            self._import_downloads()
        self._recalled = True

    @work(thread=True)
    def _import_downloads(self) -> None:
        import specchat.models.downloads
        import specchat.tui.download_line  # noqa: F401 - what it draws with

        self.call_later(self._list)

    def _list(self) -> None:
        if downloading(self.app).all.views():
            self.follow()

    def follow(self) -> None:
        """A download has begun, or goes on."""
        if self._clock is None:
            self._clock = self.set_interval(_LOOK, self.look)
        self._until = monotonic() + _STAYS
        self.look()

    def look(self) -> None:
        """Draws how far they are; nothing is drawn a while after the last one ended."""
        views = [view for view in downloading(self.app).views() if view.id not in self._loaded]
        if any(view.active for view in views):
            self._until = monotonic() + _STAYS
        elif not views or monotonic() > self._until:
            self.display = False
            if self._clock is not None:
                self._clock.stop()
                self._clock = None
            return
        from specchat.tui.download_line import download_line

        self.display = True
        self.update(download_line(views, max(self.size.width, self.screen.size.width - 2)), layout=False)

    def resume(self) -> bool:
        """Goes on with what was interrupted last; whether there was any. Raises FetchError where space is lacking."""
        for view in reversed(downloading(self.app).views()):
            if view.resumable:
                downloading(self.app).all.resume(view.id)
                self.follow()
                return True
        return False

    def take(self) -> Arrived | None:
        """What arrived last and was not loaded yet, to be loaded now."""
        downloads = downloading(self.app)
        for view in reversed(downloads.views()):
            arrived = None if view.id in self._loaded else downloads.all.arrived(view.id)
            if arrived is not None:
                self._loaded.add(view.id)
                self.look()
                return arrived
        return None
