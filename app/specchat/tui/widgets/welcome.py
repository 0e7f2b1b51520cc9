"""What an empty conversation shows: how to read the answers to come."""

from __future__ import annotations

from specchat.tui.legend import legend_pieces
from specchat.tui.pieces import Piece
from specchat.tui.widgets.entry import TextEntry


class Welcome(TextEntry):
    """A few lines that teach the language of the screen; gone with the first message."""

    def __init__(self) -> None:
        super().__init__(
            [
                Piece("Ask something.", "bold"),
                Piece("\nA small model or a look-up drafts ahead, the target checks it in one pass.", ""),
                Piece("\nThe answer is the target's own, unless ≈ says lossy. What you will see:\n", ""),
                *legend_pieces(),
            ]
        )
