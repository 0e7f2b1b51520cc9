"""The verify window: the last answer is decoded again without speculation and compared."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.errors import SpecchatError
from specchat.terminal.filter import clean_line
from specchat.traces.trace import Trace
from specchat.tui.recording import Recording
from specchat.tui.spots import output_tokens
from specchat.tui.verifying import Compared, compared

Closer = Callable[[Compared], Awaitable[str]]
"""Inspects a difference and says how close the two tokens are."""

_PROGRESS = 0.2
_TURNED = "Changing sampling parameters while an answer streams also makes the texts differ."
_MEASURE = "`specchat verify` measures numerical noise and tells it from a bug."


class VerifyScreen(ModalScreen[None]):
    """A small window with the progress, then the result."""

    CSS_PATH = "verify.tcss"
    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape,enter,q", "leave", "Back", id="verify.leave")]

    def __init__(self, answer: Trace, plain: Recording, closer: Closer) -> None:
        super().__init__()
        self._answer = answer
        self._plain = plain
        self._closer = closer
        self._over = False

    def compose(self) -> ComposeResult:
        """A frame with text."""
        with Vertical(id="panel") as panel:
            panel.border_title = "Verify"
            panel.border_subtitle = "Esc stops"
            yield Static(id="told")

    def on_mount(self) -> None:
        """Begin to decode."""
        self.set_interval(_PROGRESS, self._show_progress)
        self.run_worker(self._verify())
        self._show_progress()

    def action_leave(self) -> None:
        """Stop decoding if it runs, and go back."""
        if not self._over:
            self._plain.stop()
        self.dismiss()

    async def _verify(self) -> None:
        try:
            plain = await asyncio.to_thread(self._plain.run)
        except SpecchatError as error:
            self._tell(f"✕ {clean_line(str(error))}", "$text-warning")
            return
        if plain is None:
            return
        result = compared(self._answer, plain)
        if result.place is None:
            self._tell(f"✓ {result.sentence()}", "$outcome-accepted")
            return
        self._tell(f"✕ {result.sentence()}", "$text-warning", "comparing the two tokens …")
        self._tell(f"✕ {result.sentence()}", "$text-warning", clean_line(await self._closer(result)))

    def _tell(self, text: str, style: str, more: str = "") -> None:
        self._over = True
        self.query_one("#panel").border_subtitle = "Esc closes"
        hint = f"{_TURNED}\n{_MEASURE}" if more else ""
        rows = ((text, f"bold {style}"), (f"\n\n{more}" if more else "", ""), (f"\n\n{hint}" if hint else "", "$quiet"))
        self.query_one("#told", Static).update(Content.assemble(*rows))

    def _show_progress(self) -> None:
        if not self._over:
            told = f"Decoding the answer again without speculation: {self._plain.num_tokens} of {self._tokens} tokens …"
            self.query_one("#told", Static).update(told)

    @property
    def _tokens(self) -> int:
        return len(output_tokens(self._answer))
