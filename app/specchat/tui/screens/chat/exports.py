"""What leaves the chat: copied text and exported conversations."""

from __future__ import annotations

from pathlib import Path

from textual.widget import Widget

from specchat.errors import SpecchatError
from specchat.terminal.clipboard import copy
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.transcript.answer import Answer


class Exports:
    """Copies to the clipboard and writes files."""

    def __init__(self, owner: Widget, state: ChatState, view: ChatView) -> None:
        """`owner` is a widget of the app that copies."""
        self._owner = owner
        self._state = state
        self._view = view

    def copy(self, text: str, what: str) -> None:
        """Copies a text; `what` names it in the note."""
        self._view.note(
            f"{what} {copy(text, self._owner.app.copy_to_clipboard)}" if text else f"there is no {what} to copy yet"
        )

    def copy_part(self, part: str) -> None:
        """Copies the last answer, its last block of code, or the whole chat."""
        answers = [entry for entry in self._view.transcript.entries if isinstance(entry, Answer)]
        if part == "chat":
            messages = self._state.session.conversation.path()
            text = "\n\n".join(f"{message.role}: {message.content}" for message in messages)
        elif part == "code":
            text = next((entry.codes[-1] for entry in reversed(answers) if entry.codes), "")
        else:
            text = answers[-1].raw if answers else ""
        self.copy(text, part)

    async def export(self, kind: str, path: Path | None = None) -> None:
        """Writes the conversation to a file of this kind."""
        session = self._state.session
        try:
            written = await self._state.archive.export(session.conversation, session.loaded, kind, path)
        except (SpecchatError, OSError) as error:
            await self._view.notice(f"nothing was exported: {error}", failure=True)
        else:
            await self._view.notice(f"exported to {written}")
