"""What an empty conversation shows: what to try, and how to read the answers to come."""

from __future__ import annotations

from specchat.terminal.pieces import Piece
from specchat.tui.legend import legend_pieces
from specchat.tui.widgets.entry import TextEntry

_TO_TRY = (
    ("/tour", "two minutes of what there is to see"),
    ("F2", "turn k, drafter, temperature while it answers"),
    ("F8", "other models, and what fits this machine"),
)
_COLUMN = max(len(what) for what, _ in _TO_TRY) + 3


class Welcome(TextEntry):
    """A few lines that teach the language of the screen; gone with the first message."""

    def __init__(self) -> None:
        super().__init__(
            [
                Piece("Ask something, or try", "bold"),
                *(
                    piece
                    for what, why in _TO_TRY
                    for piece in (Piece(f"\n  {what.ljust(_COLUMN)}", "bold $text-secondary"), Piece(why, "$quiet"))
                ),
                Piece("\n\nA small model drafts ahead, the target checks its guesses in one pass.", ""),
                Piece("\nThe text is the target's own, unless ≈ says lossy. You will see:\n", ""),
                *legend_pieces(),
            ]
        )
