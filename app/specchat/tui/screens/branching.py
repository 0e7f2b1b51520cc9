"""One conversation out of many: another answer, another question, another branch, another session."""

from __future__ import annotations

from dataclasses import asdict, replace

from specchat.chat.conversation import Conversation
from specchat.chat.session import new_conversation
from specchat.chat.stored_settings import settings_from
from specchat.chat.turn_view import TurnView
from specchat.errors import SpecchatError
from specchat.stats.endings import STOPPED
from specchat.store.records import State, new_seed
from specchat.tui.screens.conversation import ConversationScreen
from specchat.tui.widgets.knobs import Knobs
from specchat.tui.widgets.prompt import Prompt
from specchat.worker.protocol import Loaded
from specchat_engine.errors import EngineError
from specchat_engine.settings import Settings


class BranchingScreen(ConversationScreen):
    """Goes back in a conversation and on in another way, and from one conversation to another."""

    async def regenerate(self, answer: int | None = None) -> None:
        """Another answer to what the last answer, or this one, was given to."""
        conversation, settings = self._session.conversation, self._session.settings
        answers = [message.id for message in conversation.path() if message.role == "assistant"]
        if self._busy() or settings is None:
            return
        if not answers:
            self._note("there is no answer yet")
            return
        chosen = answers[-1] if answer is None else answer
        conversation.rewind_to(conversation.message(chosen).parent)
        await self._show_conversation()
        await self._answer(settings)

    async def branch_from(self, answer: int, prefix: tuple[int, ...]) -> None:
        """Another answer beside this one that begins with these tokens."""
        conversation, settings = self._session.conversation, self._session.settings
        if self._busy() or settings is None:
            return
        conversation.rewind_to(conversation.message(answer).parent)
        await self._show_conversation()
        await self._answer(settings, prefix)

    def edit(self, question: int | None = None) -> None:
        """The last message of the user, or this one, back in the prompt, to be said in another way."""
        conversation = self._session.conversation
        questions = [message.id for message in conversation.path() if message.role == "user"]
        if self._busy():
            return
        if not questions:
            self._note("there is no message of yours yet")
            return
        chosen = questions[-1] if question is None else question
        self._editing = chosen
        self.query_one(Prompt).give_back(conversation.message(chosen).content)
        self.query_one(Prompt).focus()
        self._note("Enter sends it in place of the first one, which stays beside it")

    async def switch_branch(self, message: int, steps: int) -> None:
        """The branch beside the one that goes through a message."""
        if not self._busy() and self._session.conversation.switch(message, steps):
            self._archive.changed(self._session.conversation.session)
            await self._show_conversation()

    async def go_on_from(self, message: int) -> None:
        """What is said ends with this message; what followed stays beside what comes next."""
        if not self._busy():
            self._session.conversation.rewind_to(message)
            self._archive.changed(self._session.conversation.session)
            await self._show_conversation()

    async def fork(self) -> None:
        """A copy of the conversation as a session of its own."""
        if self._busy():
            return
        if self._session.conversation.empty:
            self._note("there is nothing to copy yet")
            return
        copy = self._session.conversation.copy()
        await self._enter(copy)
        for message in copy.path():
            self._archive.said(copy, message)
        self._note("a copy of the session: the first one stays as it is")

    async def clear_conversation(self) -> None:
        """An empty beginning in the same session."""
        if not self._busy():
            self._session.conversation.rewind_to(None)
            self._archive.changed(self._session.conversation.session)
            await self._show_conversation()

    async def new_conversation(self, title: str | None = None) -> None:
        """An empty conversation with the same pair and settings; an answer that runs is stopped and kept."""
        await self._leave_answer()
        conversation = new_conversation(self._session.options)
        if title:
            conversation.change(title=title)
        await self._enter(conversation)

    async def open_session(self, session: int) -> None:
        """A stored conversation, to go on with where it stopped."""
        if session == self._session.conversation.id:
            return
        await self._leave_answer()
        try:
            conversation = await self._archive.open(session)
        except SpecchatError as error:
            self._note(str(error))
            return
        if conversation is None:
            self._note("this session is not there any more")
            return
        await self._leave_answer()
        await self._enter(conversation)
        await self._memories.recall(session)
        self._resume_settings()

    def set_system(self, text: str | None) -> None:
        """The system prompt of this session, from the next message on."""
        self._archive.changed(self._session.conversation.change(system=text))
        self._note("the system prompt holds from the next message on" if text else "no system prompt any more")

    def set_seed(self, seed: int | None) -> None:
        """The seed of this session, from the next answer on; None for a new one."""
        chosen = new_seed() if seed is None else seed
        self._archive.changed(self._session.conversation.change(seed=chosen))
        self._show_header()
        self._note(f"seed {chosen} from the next answer on")

    def _apply(self, settings: Settings) -> None:
        super()._apply(settings)
        self._session.conversation.change(settings=asdict(settings))
        self._archive.turned(self._session.conversation.session, settings)

    async def _loaded(self, event: Loaded) -> None:
        begins = self._session.settings is None
        await super()._loaded(event)
        conversation = self._session.conversation
        if conversation.empty:
            conversation.change(**self._models())
        elif begins:
            self._resume_settings()

    def _resume_settings(self) -> None:
        """The settings that the session was left with, as far as the pair that is loaded now can serve them."""
        loaded, kept = self._session.loaded, self._session.conversation.session.settings
        if loaded is None or kept is None:
            return
        try:
            settings = settings_from(kept, loaded.drafters, self._session.k_max)
        except EngineError as error:
            self._note(f"the session's settings cannot be used: {error}")
            return
        self.query_one(Knobs).show(settings)
        super()._apply(settings)

    async def _enter(self, conversation: Conversation) -> None:
        """Shows a conversation in place of the one before."""
        self._give_back()
        self._editing = None
        self._session = self._session.renewed(conversation)
        if conversation.empty:
            conversation.change(**self._models())
        await self._show_conversation()
        self._show_figures(TurnView())
        self._show_header()
        self.refresh_bindings()

    def _models(self) -> dict[str, str | None]:
        """The files of the pair, as a session keeps them."""
        options = self._session.options
        return {"target": str(options.target), "draft": str(options.draft) if options.draft else None}

    async def leave(self) -> None:
        """Keeps what the models have read of the session, which is left now."""
        if self._play is None and self._session.loaded is not None:
            await self._memories.keep(self._session.conversation.id, self._session.used)

    async def _leave_answer(self) -> None:
        """Stops the answer that runs; what it said so far is kept as stopped."""
        if self._play is None:
            await self.leave()
            return
        play, self._play = self._play, None
        self._link.forget()
        message = self._session.conversation.message(play.message.id)
        unanswered = self._session.answered(message.id, play.text, play.num_tokens, None, STOPPED)
        if unanswered is not None:
            self.query_one(Prompt).give_back(unanswered)
        if self._session.conversation.holds(message.id):
            kept = self._session.conversation.message(message.id)
            self._archive.left(self._session.conversation.put(replace(kept, state=State.STOPPED)))
        else:
            self._archive_answer(play, None)

    def _busy(self) -> bool:
        if self._play is not None:
            self._note("Esc stops the answer first")
        return self._play is not None
