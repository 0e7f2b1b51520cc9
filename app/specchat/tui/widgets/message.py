"""What the user wrote, and what the app has to say between the messages."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from specchat.terminal import clean


class UserMessage(Static):
    """A message of the user."""

    def __init__(self, text: str) -> None:
        super().__init__(Content(clean(text)))
        self.border_title = "you"


class TranscriptNotice(Static):
    """A notice in the transcript; one that reports a failure stands out."""

    def __init__(self, text: str, *, failure: bool = False) -> None:
        super().__init__(Content(("✕ " if failure else "· ") + clean(text)), classes="-failure" if failure else None)
