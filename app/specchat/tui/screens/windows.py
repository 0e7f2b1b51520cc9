"""What opens over the chat, by command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specchat.tui.commands.invocations import Invocation

if TYPE_CHECKING:
    from specchat.tui.screens.chat import ChatScreen


async def open_window(chat: ChatScreen, invocation: Invocation) -> None:
    """Opens what a command asks for over the chat."""
    match invocation:
        case _:
            chat.note(f"{type(invocation).__name__} is not there yet")
