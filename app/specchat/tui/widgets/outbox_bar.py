"""The rows above the prompt that show what is queued."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widgets import Static

from specchat.chat.outbox import Outbox
from specchat.terminal.filter import clean_line

_MOST_ROWS = 3
_SENT_LATER = "sent when the answer ends · ↑ takes the last one back"
_HELD = "held · Enter sends · ↑ takes the last one back"


class OutboxBar(Static):
    """Shows the queued messages, one row each, and the keys for them; hidden if there are none."""

    ALLOW_SELECT = False
    DEFAULT_CSS: ClassVar[str] = """
    OutboxBar {
        height: auto;
        padding: 0 1;
        display: none;
        background: $panel;
        text-wrap: nowrap;
        text-overflow: ellipsis;
    }
    """

    def show(self, outbox: Outbox) -> None:
        """Shows the first messages and how many more there are."""
        messages = outbox.messages
        self.display = bool(messages)
        if not messages:
            return
        shown = messages if len(messages) <= _MOST_ROWS else messages[: _MOST_ROWS - 1]
        rows = [
            Content.assemble((f"⋯ {place} ", "$quiet"), clean_line(message.shown))
            for place, message in enumerate(shown, 1)
        ]
        if len(messages) > len(shown):
            rows.append(Content.styled(f"⋯ and {len(messages) - len(shown)} more", "$quiet"))
        hint = _HELD if outbox.held else _SENT_LATER
        rows.append(Content.styled(f"queued: {hint}", "bold $text-warning" if outbox.held else "$quiet"))
        self.update(Content("\n").join(rows))
