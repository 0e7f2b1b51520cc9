"""The terminal app that watches a server."""

from __future__ import annotations

from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.remote.servers import RemoteServer
from specchat.terminal.background import Background
from specchat.tui.app import ThemedApp
from specchat.tui.appearance import Appearance
from specchat.tui.screens.watch import WatchScreen
from specchat.watching.client import WatchClient


class WatchApp(ThemedApp):
    """Shows the answers of a server until the user leaves. The connection is closed then."""

    TITLE = "specchat"
    CSS_PATH = "screens/watch.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", priority=True, id="app.quit"),
        Binding("ctrl+p", "command_palette", "Palette", show=False, priority=True, id="app.palette"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, id="chat.suspend"),
    ]

    def __init__(
        self,
        client: WatchClient,
        server: RemoteServer,
        appearance: Appearance | None = None,
        background: Background | None = None,
    ) -> None:
        """`server` is what the client is connected to."""
        super().__init__(appearance, background)
        self._client = client
        self._server = server

    def get_default_screen(self) -> WatchScreen:
        """The only screen."""
        return WatchScreen(self._client, self._server)

    def on_unmount(self) -> None:
        """Ends the connection."""
        self._client.close()
