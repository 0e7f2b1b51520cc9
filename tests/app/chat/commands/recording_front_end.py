"""A front end without a user, which remembers what it was asked to do."""

from collections.abc import Awaitable, Callable, Coroutine, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from app.tui.scripted_client import LOADED, chat_options
from specchat.chat.archive import Archive
from specchat.chat.commands.command import Invocation, Refusal
from specchat.chat.commands.registry import commands, parse
from specchat.chat.controller import ChatController, Sources
from specchat.chat.conversation import Conversation
from specchat.chat.session import ChatSession
from specchat.settings.paths import sessions_db
from specchat_engine.settings import Settings


def every_command() -> Iterator[tuple[str, Invocation[Any]]]:
    """Each command by its name, without an argument and with two, as far as it takes them."""
    for name, command in commands().items():
        given = list[Invocation[Any]]()
        for argument in ("", "file a.txt", "html out.html", "temp 1", "answer", "on", "auto", "1"):
            with suppress(Refusal):
                given.append(command.given(argument, Sources()))
        assert given, name
        yield from ((name, invocation) for invocation in given[:3])


class RecordingFrontEnd:
    """A chat whose pair is loaded; `notes` has the notes and notices, `shown` the pages."""

    def __init__(self) -> None:
        self.chat = ChatController(ChatSession(chat_options()), Archive(sessions_db(), lambda _: None))
        self.chat.session.ready(LOADED)
        self.notes: list[str] = []
        self.shown: list[tuple[object, ...]] = []
        self.filled: list[str] = []

    async def give(self, *commands: str) -> str:
        """Gives commands and returns what was said last."""
        for command in commands:
            given = parse(command, self.chat.sources())
            assert given is not None
            await given.run(self.chat, self)
        return self.notes[-1] if self.notes else ""

    def note(self, text: str, *, passing: bool = False) -> None:
        self.notes.append(text)

    def notice(self, text: str, *, failure: bool = False) -> None:
        self.notes.append(text)

    async def show(self, page: str, *arguments: Any) -> None:
        self.shown.append((page, *arguments))

    async def background(self, work: Coroutine[Any, Any, None], words: str = "") -> None:
        await work

    async def confirm(self, path: Path, then: Callable[[], Awaitable[None]]) -> None:
        self.notes.append(f"replace {path}?")

    def fill(self, text: str, name: str) -> None:
        self.filled.append(text)

    def apply(self, settings: Settings, words: str = "") -> None:
        self.chat.apply(settings)

    async def enter(self, conversation: Conversation) -> None:
        self.chat.session = self.chat.session.renewed(conversation)

    def refresh(self) -> None:
        pass

    async def quit(self) -> None:
        pass
