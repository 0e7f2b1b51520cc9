"""Which of several versions of a message is shown."""

from __future__ import annotations

from dataclasses import dataclass

from specchat.terminal.pieces import Clickable, Piece

PREVIOUS = "previous_sibling"
NEXT = "next_sibling"
_STYLE = "$text-accent"


@dataclass(frozen=True, slots=True)
class Siblings:
    """The `number`th, counted from 1, of `count` versions."""

    number: int = 1
    count: int = 1

    @property
    def several(self) -> bool:
        """Whether there is anything to choose from."""
        return self.count > 1

    def pieces(self) -> tuple[Piece, ...]:
        """`‹2/3›`, whose ends can be clicked, or nothing where there is one version only."""
        if not self.several:
            return ()
        return (
            Piece("‹", Clickable(_STYLE, PREVIOUS)),
            Piece(f"{self.number}/{self.count}", _STYLE),
            Piece("›", Clickable(_STYLE, NEXT)),
        )


NO_SIBLINGS = Siblings()
