"""A text to the clipboard: the desktop's where there is one, else through the terminal."""

from __future__ import annotations

from textual.app import App

from specchat.terminal.clipboard import copy_natively


def copy(app: App[object], text: str) -> str:
    """Copies a text and returns what became of it; a terminal never says whether it took the text."""
    if copy_natively(text):
        return "copied"
    app.copy_to_clipboard(text)
    return "sent to the terminal"
