"""Copies text to the clipboard of the desktop, or through the terminal if there is no desktop."""

from __future__ import annotations

from textual.app import App

from specchat.terminal.clipboard import copy_natively


def copy(app: App[object], text: str) -> str:
    """Copies a text and returns what happened. A terminal does not say whether it took the text."""
    if copy_natively(text):
        return "copied"
    app.copy_to_clipboard(text)
    return "sent to the terminal"
