"""The chat without a screen: what both front ends keep and change of a conversation, and what it asks of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from specchat.chat.archive import Archive
from specchat.chat.conversation import Conversation
from specchat.chat.guide import docs_words
from specchat.chat.history import PromptHistory, as_typed
from specchat.chat.knobs import settings_from
from specchat.chat.saved_texts import saved_prompts, saved_roles
from specchat.chat.session import ChatSession, Question
from specchat.chat.tool_turn import ChatTools
from specchat.engine_process.protocol import NO_TOOLS, Offer, Prefix, Summarised
from specchat.errors import StoreError
from specchat.settings.presets import preset_names
from specchat.store.images import StoredImage
from specchat.store.records import StoredMessage
from specchat.tools.tool import ToolResult
from specchat.traces.trace import Trace
from specchat_engine.errors import EngineError, SettingError
from specchat_engine.prompt.messages import ToolCall
from specchat_engine.settings import DRAFTERS, Settings

STILL_LOADING = "the model is still loading"

Names = Callable[[], Iterable[tuple[str, str]]]
"""Names, each with a few words about it or an empty text."""


class FrontEnd(Protocol):
    """Shows messages to the user, and asks the user."""

    def note(self, text: str, *, passing: bool = False) -> None:
        """Says a line that the user needs now; a `passing` one ends with what it is about."""

    def notice(self, text: str, *, failure: bool = False) -> None:
        """Says a text that stays in the conversation."""

    async def show(self, page: str, *arguments: Any) -> None:
        """Shows a page, or says that this front end has none of that name."""

    async def background(self, work: Coroutine[Any, Any, None], words: str = "") -> None:
        """Does what takes a while, after a note with these words. If nothing else can go on, it waits for the end."""

    async def confirm(self, path: Path, then: Callable[[], Awaitable[None]]) -> None:
        """Asks whether a file may be replaced; calls `then` if so."""

    def fill(self, text: str, name: str) -> None:
        """Gives the user a stored prompt of this name to send."""

    def apply(self, settings: Settings, words: str = "") -> None:
        """Uses other settings from the next round on. `words` say what has changed, for those who do not see it."""

    async def enter(self, conversation: Conversation) -> None:
        """Goes on with another conversation, which is in memory."""

    def refresh(self) -> None:
        """Shows again what is always visible, such as the seed."""

    async def quit(self) -> None:
        """Ends the program."""


def no_names() -> Iterable[tuple[str, str]]:
    """Nothing to choose from."""
    return ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What commands can name: used to complete and to check arguments. The lists are read again each time.

    `themes`, `presets`, `prompts` and `roles` are complete: other names are rejected, except themes if the list is
    empty. `models`, `tags` and `tools` are suggestions, `own_tags` those of the conversation. A relative path starts
    from `folder`.
    """

    drafters: tuple[str, ...] = DRAFTERS
    k_max: int = 32
    models: Names = no_names
    themes: Names = no_names
    presets: Names = no_names
    prompts: Names = no_names
    roles: Names = no_names
    tags: Names = no_names
    own_tags: Names = no_names
    tools: Names = no_names
    folder: Path = field(default_factory=Path.cwd)


@dataclass(slots=True)
class ChatController:
    """One conversation at a time, with the archive that stores it. `history` is what the user has typed."""

    session: ChatSession
    archive: Archive
    history: PromptHistory = field(default_factory=PromptHistory)
    tools: ChatTools = field(default_factory=ChatTools)

    @property
    def conversation(self) -> Conversation:
        """The conversation that is shown."""
        return self.session.conversation

    @property
    def settings(self) -> Settings | None:
        """The settings in force; None until a pair is loaded."""
        return self.session.settings

    @property
    def last_answer(self) -> StoredMessage | None:
        """The last answer of the conversation that is shown."""
        return self.conversation.last("assistant")

    @property
    def last_question(self) -> StoredMessage | None:
        """The user's last message."""
        return self.conversation.last("user")

    @property
    def last_question_as_typed(self) -> str | None:
        """The user's last message, with `@` before files in place of their texts; None if there is none."""
        last = self.last_question
        return None if last is None else as_typed(last.content, self.history.entries)

    def docs_words(self, answer: str) -> str:
        """What to search the docs for if the built-in guide does not know the answer; empty otherwise."""
        last = self.last_question
        return "" if last is None or last.images else docs_words(last.content, answer, self.session.options.target)

    def sources(self) -> Sources:
        """The names that commands can use, apart from what only a screen has."""
        loaded = self.session.loaded
        return Sources(
            loaded.drafters if loaded else Sources().drafters,
            self.session.k_max,
            presets=preset_names,
            prompts=saved_prompts().names,
            roles=saved_roles().names,
            tags=self.archive.tags,
            own_tags=dict.fromkeys(self.conversation.session.tags, "").items,
            tools=self.tools.names,
        )

    def ask(self, text: str, instead_of: int | None = None, images: tuple[StoredImage, ...] = ()) -> StoredMessage:
        """Adds the user's message, or an edited version of an earlier one."""
        message = self.session.ask(text, instead_of, images)
        self.archive.said(self.conversation, message)
        return message

    def close_calls(self) -> list[StoredMessage]:
        """Adds a result to each call of the last answer that was left before it was made."""
        results = self.conversation.close_calls()
        for result in results:
            self.archive.said(self.conversation, result)
        return results

    def begin(
        self,
        prefix: Prefix = (),
        *,
        frozen: bool = False,
        waiting: StoredMessage | None = None,
        tools: Offer = NO_TOOLS,
    ) -> tuple[StoredMessage, Question]:
        """Begins an answer, or the empty one that waited. Returns it with the request to the engine."""
        message, question = self.session.begin(prefix, frozen=frozen, answer=waiting, tools=tools)
        if waiting is None:
            self.archive.said(self.conversation, message)
        return message, question

    def summarise(self, answer: int, event: Summarised) -> None:
        """Puts a summary in place of the oldest turns, from this answer on."""
        message = self.conversation.summarise(answer, event.num_messages, event.text)
        if message is not None:
            self.archive.summarised(message)

    def store_ended(self, answer: StoredMessage, trace: Trace | None) -> None:
        """Stores an answer that has ended, or that it was withdrawn."""
        conversation, loaded = self.conversation, self.session.loaded
        if not conversation.holds(answer.id):
            question = answer.parent
            gone = [] if question is None or conversation.holds(question) else [question]
            self.archive.unsaid([answer.id, *gone])
            self.archive.changed(conversation.session)
        elif trace is not None and loaded is not None:
            self.archive.answered(conversation.message(answer.id), loaded.pair_name, trace)
        else:
            self.archive.left(conversation.message(answer.id))

    def add_result(self, call: ToolCall, result: ToolResult) -> StoredMessage:
        """Adds what a call of the last answer returned."""
        message = self.conversation.add_result(call, result.text, failed=result.failed, seconds=result.seconds)
        self.archive.said(self.conversation, message)
        return message

    async def stored(self, session: int) -> Conversation:
        """A stored conversation. Raises StoreError if it is not there any more or cannot be read."""
        conversation = await self.archive.open(session)
        if conversation is None:
            raise StoreError("this session is not there any more")
        return conversation

    def enter(self, conversation: Conversation) -> None:
        """Goes on with another conversation and the same pair; what was allowed in the last one is forgotten."""
        self.session = self.session.renewed(conversation)
        self.tools.forget()

    def stored_settings(self) -> Settings | None:
        """The settings of a stored conversation, as far as the pair has them; None if there are none.

        Raises SettingError if they cannot be used.
        """
        loaded, stored = self.session.loaded, self.conversation.session.settings
        if loaded is None or stored is None:
            return None
        try:
            return settings_from(stored, loaded.drafters, self.session.k_max)
        except EngineError as error:
            raise SettingError(f"the session's settings cannot be used: {error}") from None

    def change(self, **changes: object) -> None:
        """Changes and stores what belongs to the conversation as a whole: its system prompt or its seed."""
        self.archive.changed(self.conversation.change(**changes))

    def tag(self, tags: Iterable[str]) -> None:
        """Gives the conversation these tags."""
        self.archive.tagged(self.conversation.change(tags=tuple(tags)))

    def apply(self, settings: Settings, *, remember: bool = True) -> None:
        """Uses other settings from the next round on; the session keeps them unless `remember` is false."""
        self.session.settings = settings
        if remember:
            self.conversation.change(settings=asdict(settings))
            self.archive.turned(self.conversation.session, settings)
