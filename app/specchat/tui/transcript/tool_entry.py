"""The call of a tool in the conversation, with its result."""

from __future__ import annotations

from specchat.terminal.pieces import Piece, shown
from specchat.tui.transcript.entries import TextEntry

_SHOWN_LINES = 3
_SHOWN_ARGUMENTS = 200


class ToolEntry(TextEntry):
    """A call: its name and arguments on one line, and the beginning of what it gave."""

    can_be_selected = True
    edge = "$border"

    def __init__(self, name: str, arguments: str, result: str, *, failed: bool = False) -> None:
        lines = shown(result).splitlines()
        below = len(lines) - _SHOWN_LINES
        given = " ".join(shown(arguments).split())
        more = "…" if len(given) > _SHOWN_ARGUMENTS else ""
        pieces = [
            Piece(f"{shown(name)} {'failed' if failed else 'called'}", "bold"),
            Piece(f" {given[:_SHOWN_ARGUMENTS]}{more}", "$quiet"),
            *(Piece(f"\n{line}", "") for line in lines[:_SHOWN_LINES]),
        ]
        if below > 0:
            pieces.append(Piece(f"\n… {below} more line{'' if below == 1 else 's'}", "$quiet"))
        super().__init__(pieces)
        self._result = result

    @property
    def raw(self) -> str:
        """The whole result."""
        return self._result
