"""A slash command, and helpers that read and complete its argument.

An argument is read before the command runs, so that a mistake stays in the prompt.
"""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Generic, Literal, NamedTuple, TypeVar

from specchat.chat.controller import STILL_LOADING, ChatController, FrontEnd, Sources
from specchat.engine_process.protocol import ServerInfo
from specchat.errors import SpecchatError
from specchat.remote.limits import needs_this_machine
from specchat.settings.paths import expanded
from specchat_engine.errors import EngineError
from specchat_engine.settings import Settings

NONE = "none"
SWITCH = ("on", "off")
SAVE, FORGET = "save", "forget"

Value = TypeVar("Value")


class Refusal(SpecchatError):
    """A command that cannot be done: one line with what is wrong and what to do."""


class Files:
    """Stands for the names of files among what a word can be."""


Choices = Callable[[Sources, str], Iterable[tuple[str, str]] | Files]
"""What a word can be, each with a few words about it, or files; the text is the word before.

If one ends in a blank, more has to be typed after it.
"""


def _nothing_refused(_value: object, _server: ServerInfo) -> str:
    return ""


@dataclass(frozen=True, slots=True, eq=False)
class Command(Generic[Value]):
    """A command: its name, its arguments as the help shows them, and one sentence about it.

    `read` reads what follows the name, or raises Refusal; `run` does it. Without `run`, the front end shows the page of
    the command's name, with what was read unless that is None. The help lists commands by `order`. `words` completes
    the arguments, the last of them up to the end of the line. `open_ended` is True if the argument may be something
    that no list has: Enter then sends what is typed instead of what is offered. `plain` is True if the line-by-line
    chat has the command, or the sentence about what it does there. `refuses` says why it cannot be done while a server
    answers.
    """

    name: str
    arguments: str
    help: str
    read: Callable[[str, Sources], Value]
    run: Callable[[ChatController, FrontEnd, Value], Awaitable[None]] | None = None
    _: KW_ONLY
    order: int
    words: tuple[Choices | Files, ...] = ()
    open_ended: bool = False
    plain: bool | str = False
    refuses: Callable[[Value, ServerInfo], str] = _nothing_refused

    @property
    def heading(self) -> str:
        """The name and the arguments, as the help shows them."""
        return f"/{self.name} {self.arguments}".strip()

    def sentence(self, *, plain: bool = False) -> str:
        """The sentence about the command; with `plain` about what it does in the line-by-line chat."""
        return self.plain if plain and isinstance(self.plain, str) else self.help

    def given(self, argument: str, sources: Sources) -> Invocation[Value]:
        """The command with this argument. Raises Refusal if it cannot have it."""
        return Invocation(self, self.read(argument, sources))


@dataclass(frozen=True, slots=True)
class Invocation(Generic[Value]):
    """A command with its argument, as it was read."""

    command: Command[Value]
    value: Value

    def refusal(self, server: ServerInfo | None) -> str:
        """Why it cannot be done with this server; empty if it can, or if there is no server."""
        return "" if server is None else self.command.refuses(self.value, server)

    async def run(self, chat: ChatController, ui: FrontEnd) -> None:
        """Does what the command asks for. A note says why something cannot be done."""
        try:
            if why := self.refusal(chat.session.server):
                ui.note(why)
            else:
                await self._run(chat, ui)
        except (SpecchatError, EngineError) as error:
            ui.note(str(error))

    async def _run(self, chat: ChatController, ui: FrontEnd) -> None:
        if self.command.run is not None:
            await self.command.run(chat, ui, self.value)
        elif self.value is None:
            await ui.show(self.command.name)
        else:
            await ui.show(self.command.name, self.value)


def settings_in_force(chat: ChatController, ui: FrontEnd) -> Settings | None:
    """The settings of the next round; None, with a note, until a pair is loaded."""
    if chat.settings is None:
        ui.note(STILL_LOADING, passing=True)
    return chat.settings


def needs_local(what: str) -> Callable[[object, ServerInfo], str]:
    """Refuses what needs a model on this machine."""
    return lambda _value, _server: needs_this_machine(what)


def fixed(*names: str) -> Choices:
    """Always the same words."""
    return lambda _sources, _before: ((name, "") for name in names)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, or None if none is close."""
    close = difflib.get_close_matches(name.lower(), known, 1)
    return close[0] if close else None


def closest(name: str, known: Collection[str]) -> str:
    """`did you mean X?`, or all names if none is close."""
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"use {', '.join(known)}"


def nothing(argument: str, _sources: Sources) -> None:
    """Reads the argument of a command that takes none."""
    if argument:
        raise Refusal(f"this command takes no arguments: omit {argument!r}")


def text(argument: str, _sources: Sources) -> str:
    """Reads any text."""
    return argument


def path(argument: str, sources: Sources) -> Path:
    """Reads the name of a file, which may stand in quotes."""
    return sources.folder / expanded(Path(unquoted(argument)))


def unquoted(argument: str) -> str:
    """A file's name without the quotes around it; the closing one may be missing."""
    return argument[1:].removesuffix('"') if argument.startswith('"') else argument


def named(argument: str, known: Iterable[tuple[str, str]], what: str) -> str | None:
    """The listed name, ignoring case; None if nothing was typed, and the argument itself if the list is empty.

    Raises Refusal for a name that is not listed.
    """
    names = [name for name, _ in known]
    for name in names:
        if name.lower() == argument.lower():
            return name
    if argument and names:
        raise Refusal(f"there is no {what} {argument}: {closest(argument, names)}")
    return argument or None


class StoredAction(NamedTuple):
    """What to do with texts or presets that are stored by name; `words` follow the name of one that is used."""

    action: Literal["list", "use", "save", "forget"]
    name: str = ""
    words: str = ""


def stored(name: str, known: Collection[tuple[str, str]], what: str, words: str = "") -> StoredAction:
    """Reads the name of something that is stored, which is used; no name lists all.

    Raises Refusal for a name that is not stored.
    """
    if name and not known:
        raise Refusal(f"there is no {what} {name}: /{what} save {name} stores one")
    listed = named(name, known, what)
    return StoredAction("list") if listed is None else StoredAction("use", listed, words)


def saved_or_forgotten(argument: str, known: Collection[tuple[str, str]], what: str) -> StoredAction | None:
    """Reads `save NAME` and `forget NAME`; None for another argument. Raises Refusal for a name that is not stored."""
    word, _, name = argument.partition(" ")
    word, name = word.lower(), name.strip()
    if word not in (SAVE, FORGET):
        return None
    if not name:
        raise Refusal(f"name the {what}: /{what} {word} NAME")
    return StoredAction("save", name) if word == SAVE else StoredAction("forget", stored(name, known, what).name)


def forgettable(known: Iterable[tuple[str, str]]) -> Iterable[tuple[str, str]]:
    """Completions that remove one of these."""
    return ((f"{FORGET} {name}", "removes it") for name, _ in known)
