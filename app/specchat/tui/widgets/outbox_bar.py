"""The rows above the prompt that show what goes out later."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.content import Content
from textual.widgets import Static

from specchat.chat.outbox import Outbox, named_output
from specchat.terminal.filter import clean_line

_MOST_ROWS = 3
_SENT_LATER = "sent when the answer ends · ↑ takes the last one back"
_HELD = "held · Enter sends · ↑ takes the last one back"


class OutboxBar(Static):
    """Shows queued messages, outputs for the next message, and the keys for them; hidden if there are none."""

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
        """Shows the first messages, how many more there are, and the last output."""
        rows = [*_message_rows(outbox), *_output_rows(outbox)]
        self.display = bool(rows)
        self.update(Content("\n").join(rows))


def _message_rows(outbox: Outbox) -> Iterator[Content]:
    messages = outbox.messages
    if not messages:
        return
    shown = messages if len(messages) <= _MOST_ROWS else messages[: _MOST_ROWS - 1]
    for number, message in enumerate(shown, 1):
        yield Content.assemble((f"⋯ {number} ", "$quiet"), clean_line(message.shown))
    if len(messages) > len(shown):
        yield Content.styled(f"⋯ and {len(messages) - len(shown)} more", "$quiet")
    hint = _HELD if outbox.held else _SENT_LATER
    yield Content.styled(f"queued: {hint}", "bold $text-warning" if outbox.held else "$quiet")


def _output_rows(outbox: Outbox) -> Iterator[Content]:
    outputs = outbox.outputs
    if others := len(outputs[:-1]):
        yield Content.styled(f"+ output of {others} more command{'' if others == 1 else 's'}", "$quiet")
    if outputs:
        yield Content.styled(f"+ {named_output(outputs[-1])} · Esc removes it", "$quiet")
