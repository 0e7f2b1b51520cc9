"""What an empty conversation shows: how to read the answers to come."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from specchat.tui.legend import legend_rows


class Welcome(Static):
    """A few lines that teach the language of the screen; gone with the first message."""

    def __init__(self) -> None:
        rows = [
            Content.styled("Ask something.", "bold"),
            Content("A small model or a look-up drafts ahead, the target checks it in one pass."),
            Content("The answer is the target's own, unless ≈ says lossy. What you will see:"),
            Content(""),
            *legend_rows(),
        ]
        super().__init__(Content("\n").join(rows))
