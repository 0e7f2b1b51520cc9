"""What opens over the chat, by command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specchat.chat.commands import invocations as asked

if TYPE_CHECKING:
    from specchat.tui.screens.chat import ChatScreen


async def open_window(chat: ChatScreen, invocation: asked.Invocation) -> None:
    """Opens what a command asks for over the chat."""
    match invocation:
        case asked.Replay(path):
            await chat.replay(path)
        case asked.Race():
            await chat.race()
        case asked.ShowModels(role):
            await chat.browse_models(role)
        case asked.Verify():
            await chat.verify()
        case asked.Tour():
            await chat.start_tour()
        case asked.ShowStatistics(scope):
            await chat.statistics(scope.capitalize())
        case asked.Explain():
            await chat.statistics("Why")
        case _:
            chat.note(f"{type(invocation).__name__} is not there yet")
