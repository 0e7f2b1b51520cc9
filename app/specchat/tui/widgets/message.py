"""What the user wrote, and what the app has to say between the messages."""

from __future__ import annotations

from specchat.terminal.pieces import Piece, shown
from specchat.tui.siblings import NO_SIBLINGS, Siblings
from specchat.tui.widgets.entry import TextEntry

_GROUND = "on $surface"


class UserMessage(TextEntry):
    """A message of the user; `key` is what the screen knows it by."""

    can_be_selected = True
    edge = "$primary"

    def __init__(self, text: str, *, key: object = None, siblings: Siblings = NO_SIBLINGS) -> None:
        super().__init__(
            [*siblings.pieces(), *([Piece("\n", "")] if siblings.several else []), Piece(shown(text), "")],
            ground=_GROUND,
        )
        self.key = key
        self.siblings = siblings
        self._raw = text

    @property
    def raw(self) -> str:
        """What the user wrote."""
        return self._raw


class TranscriptNotice(TextEntry):
    """A notice in the transcript; one that reports a failure stands out."""

    def __init__(self, text: str, *, failure: bool = False) -> None:
        style = "$text-warning" if failure else "$quiet"
        super().__init__([Piece(("✕ " if failure else "· ") + shown(text), style)])
        self.failure = failure

    @property
    def raw(self) -> str:
        """The notice."""
        return self.text
