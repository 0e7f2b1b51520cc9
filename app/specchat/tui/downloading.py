"""The app's downloads: one object that outlives every window, made when the first download begins."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from textual.app import App

    from specchat.models.downloads import Downloads, DownloadView


class Downloading:
    """Makes the downloads when they are wanted: what they need is not imported before."""

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
        """All of them as they are now."""
        return self._downloads.views() if self._downloads else []

    def close(self) -> list[DownloadView]:
        """Ends all, to be resumed another time; those that were not complete."""
        return self._downloads.close() if self._downloads else []


def downloading(app: App[object]) -> Downloading:
    """The downloads of the running app."""
    from specchat.tui.app import SpecchatApp

    if not isinstance(app, SpecchatApp):
        raise TypeError(f"{app!r} has no downloads")
    return app.downloading
