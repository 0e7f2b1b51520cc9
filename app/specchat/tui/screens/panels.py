"""The panel of figures: beside the conversation where there is room, over it where there is not."""

from __future__ import annotations

from specchat.chat.turn_view import TurnView
from specchat.tui.dashboard.dashboard import Dashboard
from specchat.tui.screens.branching import BranchingScreen
from specchat.tui.widgets.prompt import Prompt
from specchat.worker.protocol import Loaded


class PanelsScreen(BranchingScreen):
    """Shows the figures, explains them while they have the focus, and takes them away.

    On a narrow screen the panel is there only while it has the class `-figures`; elsewhere `-no-figures` hides it.
    """

    def action_figures(self) -> None:
        """Explains the figures; once more hides them."""
        panel = self.query_one(Dashboard)
        if panel.has_focus:
            self.remove_class("-figures")
            self.add_class("-no-figures")
            self.query_one(Prompt).focus()
        else:
            self.remove_class("-no-figures")
            self.add_class("-figures")
            self.call_after_refresh(panel.focus)

    def on_dashboard_left(self) -> None:
        """Goes back to the prompt; a panel over the conversation goes away."""
        self.remove_class("-figures")
        self.query_one(Prompt).focus()

    async def _loaded(self, event: Loaded) -> None:
        await super()._loaded(event)
        if self._play is None:
            self._show_figures(TurnView.before(event.memory))
