"""An app that plays a trace back: only the screen of the replay, without a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.terminal.background import Background
from specchat.traces.trace import Trace
from specchat.tui.appearance import Appearance
from specchat.tui.screens.replay import ReplayScreen
from specchat.tui.themed import ThemedApp


class ReplayApp(ThemedApp):
    """Plays the turns of one trace until the user leaves."""

    TITLE = "specchat replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="app.quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, id="replay.quit"),
        Binding("ctrl+p", "command_palette", "Palette", show=False, priority=True, id="app.palette"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, id="chat.suspend"),
    ]

    def __init__(
        self,
        traces: Sequence[Trace],
        source: str,
        appearance: Appearance | None = None,
        background: Background | None = None,
    ) -> None:
        """`source` says where the turns come from."""
        super().__init__(appearance, background)
        self._traces = traces
        self._source = source

    def on_mount(self) -> None:
        """Opens the replay; leaving it ends the app."""
        self.push_screen(ReplayScreen(self._traces, source=self._source), lambda _: self.exit())


def run_replay(traces: Sequence[Trace], source: str, appearance: Appearance, background: Background) -> None:
    """Opens the replay and returns when the user leaves; `background` holds what was read from the terminal before."""
    ReplayApp(traces, source, appearance, background).run()
