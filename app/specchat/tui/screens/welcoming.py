"""The first run: the welcome over the chat, and what its choice leads to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from specchat.models.chosen_pair import remember_welcome
from specchat.tui.screens.first_run import FirstRunScreen, Fitting, Offer, Step
from specchat.tui.widgets.prompt import Prompt

if TYPE_CHECKING:
    from specchat.tui.screens.chat import ChatScreen


def welcome(chat: ChatScreen) -> None:
    """Shows the welcome, once: the next start is not the first."""
    remember_welcome()

    def write(text: str) -> None:
        chat.query_one(Prompt).insert(text)

    def send() -> None:
        chat.query_one(Prompt).action_send()

    async def chosen(offer: Offer | None) -> None:
        if offer is None or offer.step is Step.START:
            return
        if offer.step is Step.TOUR:
            await chat.start_tour()
        elif offer.step is Step.SEARCH:
            await chat.browse_models(part="hub")
        elif offer.pair is not None:
            await chat.browse_models(part="suggested", chosen=offer.pair.title)
        else:
            await chat.browse_models()

    chat.app.push_screen(FirstRunScreen(lambda: chat.settings is not None, _fitting, write, send), chosen)


def _fitting() -> Fitting:
    from specchat.models.machine import ask_machine
    from specchat.models.recommended import few, suggestions

    place = ask_machine(bandwidth=True)
    return Fitting(place.words, few(suggestions(place)))
