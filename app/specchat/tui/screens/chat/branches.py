"""Other answers and other questions beside the ones that a conversation has."""

from __future__ import annotations

from specchat.tui.screens.chat.state import ChatState
from specchat.tui.screens.chat.turns import TurnRunner
from specchat.tui.screens.chat.view import ChatView


class Branches:
    """Goes back in a conversation and on in another way. What was said before stays as a branch."""

    def __init__(self, state: ChatState, view: ChatView, turns: TurnRunner) -> None:
        self._state = state
        self._view = view
        self._turns = turns

    async def regenerate(self, answer: int | None = None) -> None:
        """Adds another answer beside this one, or beside the last one."""
        if self._view.is_busy() or self._state.settings is None:
            return
        last = self._state.last_answer
        if last is None:
            self._view.note("there is no answer yet")
            return
        await self.answer_again(last.id if answer is None else answer)

    async def answer_again(self, answer: int, prefix: tuple[int, ...] = ()) -> None:
        """Adds another answer beside this one; its first tokens are `prefix`."""
        conversation, settings = self._state.session.conversation, self._state.settings
        if self._view.is_busy() or settings is None:
            return
        conversation.rewind_to(conversation.message(answer).parent)
        await self._view.show_conversation()
        await self._turns.answer(settings, prefix)

    def edit(self, question: int | None = None) -> None:
        """Puts this message of the user, or the last one, back into the prompt."""
        if self._view.is_busy():
            return
        last = self._state.last_question
        if last is None:
            self._view.note("there is no message of yours yet")
            return
        chosen = last.id if question is None else question
        self._state.editing = chosen
        self._view.prompt.give_back(self._state.session.conversation.message(chosen).content)
        self._view.prompt.focus()
        self._view.note("Enter sends it in place of the first one, which stays beside it")

    async def switch(self, message: int, steps: int) -> None:
        """Shows the branch `steps` beside the one with this message."""
        if not self._view.is_busy() and self._state.session.conversation.switch(message, steps):
            await self._changed()

    async def go_on_from(self, message: int | None) -> None:
        """Ends what is shown with this message; None shows an empty beginning. The next message is a new branch."""
        if not self._view.is_busy():
            self._state.session.conversation.rewind_to(message)
            await self._changed()

    async def _changed(self) -> None:
        self._state.archive.changed(self._state.session.conversation.session)
        await self._view.show_conversation()
