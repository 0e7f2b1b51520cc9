"""The message in the user's own editor, in place of the app for a while."""

from __future__ import annotations

from typing import cast

from textual.app import SuspendNotSupported
from textual.screen import Screen

from specchat.errors import EditorError
from specchat.tui.screens.chat.view import ChatView
from specchat.tui.terminal_input import TerminalApp


class OutsideEditor:
    """Opens the editor. An answer goes on streaming meanwhile."""

    def __init__(self, screen: Screen[None], view: ChatView) -> None:
        self._screen = screen
        self._view = view

    def open(self) -> None:
        """Edits what the prompt holds. An editor that fails changes nothing."""
        self._screen.run_worker(self._edit(), group="editor", exclusive=True)

    async def _edit(self) -> None:
        from specchat.terminal.editor import edited, editor_command

        app, prompt = cast(TerminalApp, self._screen.app), self._view.prompt
        before = prompt.unfolded()
        self._view.note("")
        try:
            command = editor_command()
            with app.lending():
                after = await edited(before, command)
        except EditorError as error:
            self._view.note(str(error))
        except SuspendNotSupported:
            self._view.note("this terminal cannot be given to an editor")
        else:
            if after != before.removesuffix("\n"):
                prompt.write(after)
            prompt.focus()
