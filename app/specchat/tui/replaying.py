"""A trace in the terminal app: the replay's screen and nothing else, no model and no engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from specchat.terminal.background import Ground
from specchat.traces.trace import Trace
from specchat.tui.appearance import Appearance
from specchat.tui.listening import listen
from specchat.tui.screens.replay import ReplayScreen
from specchat.tui.themed import ThemedApp


class ReplayApp(ThemedApp):
    """Plays the turns of one trace until the user has seen enough."""

    TITLE = "specchat replay"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+q", "quit", "Quit", show=False, priority=True, id="app.quit"),
        Binding("ctrl+c", "quit", "Quit", show=False, id="replay.quit"),
        Binding("ctrl+p", "command_palette", "Palette", show=False, priority=True, id="app.palette"),
        Binding("ctrl+z", "suspend_process", "Suspend", show=False, priority=True, id="chat.suspend"),
    ]

    def __init__(self, traces: Sequence[Trace], source: str, appearance: Appearance | None = None) -> None:
        """`source` says where the turns come from."""
        super().__init__(appearance)
        self._traces = traces
        self._source = source

    def on_mount(self) -> None:
        """Opens the replay; leaving it is leaving."""
        self.push_screen(ReplayScreen(self._traces, source=self._source), lambda _: self.exit())


def run_replay(traces: Sequence[Trace], source: str, appearance: Appearance, ground: Ground) -> None:
    """Opens the replay and returns when the user leaves; `ground` holds what was read from the terminal before."""
    app = ReplayApp(traces, source, appearance)
    listen(ground, lambda: app.takes_keys)
    app.run()
