"""The welcome over the chat on the first run, and what its choice leads to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from textual.widget import Widget

from specchat.models.chosen_pair import remember_welcome
from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.first_run import FirstRunScreen, Fitting, Offer, Step
from specchat.tui.widgets.prompt import Prompt


def welcome(
    owner: Widget,
    state: ChatState,
    prompt: Prompt,
    start_tour: Callable[[], Awaitable[None]],
    browse: Callable[[str, str], None],
) -> None:
    """Opens the welcome; the next start does not show it.

    `browse` opens the model browser: it takes the browser's part and the title of the pair to show first.
    """
    remember_welcome()

    async def chosen(offer: Offer | None) -> None:
        if offer is None or offer.step is Step.START:
            return
        if offer.step is Step.TOUR:
            await start_tour()
        elif offer.step is Step.SEARCH:
            browse("hub", "")
        elif offer.pair is not None:
            browse("suggested", offer.pair.title)
        else:
            browse("here", "")

    def write(text: str) -> None:
        prompt.insert(text)

    screen = FirstRunScreen(lambda: state.settings is not None, _fitting, write, prompt.action_send)
    owner.app.push_screen(screen, chosen)


def _fitting() -> Fitting:
    from specchat.models.machine import ask_machine
    from specchat.models.recommended import few, suggestions

    place = ask_machine(bandwidth=True)
    return Fitting(place.words, few(suggestions(place)))
