"""From the text after a command's name to what it asks for, or to one line that says why it cannot be done."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import get_args

from specchat.chat.commands.invocations import (
    Attach,
    Copy,
    EditAnswer,
    EditLast,
    Export,
    ExportKind,
    Import,
    Invocation,
    Learn,
    LearnAction,
    LoadDraft,
    LoadTarget,
    NameFile,
    NewSession,
    Part,
    Predict,
    Refusal,
    Replay,
    Scope,
    SetSystem,
    SetTheme,
    ShowBeside,
    ShowHelp,
    ShowModels,
    ShowSessions,
    ShowStatistics,
    ShowSystem,
    StepMode,
    UseStore,
    UseTools,
)
from specchat.settings.paths import expanded
from specchat.terminal.filter import clean_line
from specchat_engine.settings import DRAFTERS

LEARN_ACTIONS: tuple[LearnAction, ...] = get_args(LearnAction)

Names = Callable[[], Iterable[tuple[str, str]]]
"""Names, each with a few words about it or an empty text."""


def no_names() -> Iterable[tuple[str, str]]:
    """Nothing to choose from."""
    return ()


@dataclass(frozen=True, slots=True)
class Sources:
    """What commands can name: used to complete and to check arguments. The lists are read again each time.

    `themes`, `presets`, `prompts` and `roles` are complete: other names are rejected, the first two unless the list is
    empty. `sessions`, `models`, `tags` and `tools` are suggestions, `own_tags` those of the conversation. A relative
    path starts from `folder`.
    """

    drafters: tuple[str, ...] = DRAFTERS
    k_max: int = 32
    sessions: Names = no_names
    models: Names = no_names
    themes: Names = no_names
    presets: Names = no_names
    prompts: Names = no_names
    roles: Names = no_names
    tags: Names = no_names
    own_tags: Names = no_names
    tools: Names = no_names
    folder: Path = field(default_factory=Path.cwd)


Read = Invocation | Refusal
Reader = Callable[[str, Sources], Read]

NONE = "none"
EXPORT_KINDS: tuple[ExportKind, ...] = get_args(ExportKind)
SWITCH = ("on", "off")
TOOL_FILE = "file"
BESIDE = ("new", "off")
SCOPES: tuple[Scope, ...] = get_args(Scope)
PARTS: tuple[Part, ...] = get_args(Part)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that is most like this one, or None if none is close."""
    close = difflib.get_close_matches(name.lower(), known, 1)
    return close[0] if close else None


def closest(name: str, known: Collection[str]) -> str:
    """`did you mean X?`, or all names if none is close."""
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"use {', '.join(known)}"


def alone(invocation: Invocation) -> Reader:
    """A command without arguments."""

    def read(argument: str, _sources: Sources) -> Read:
        return invocation if not argument else Refusal(f"this command takes no arguments: omit {argument!r}")

    return read


def read_edit(argument: str, _sources: Sources) -> Read:
    """Nothing for the last message; `answer` for the last answer, with a text for it or without."""
    word, _, text = argument.partition(" ")
    if not word:
        return EditLast()
    if word.lower() != "answer":
        return Refusal(f"/edit edits the last message, /edit answer the last answer: omit {word!r}")
    return EditAnswer(text.strip() or None)


def read_import(argument: str, sources: Sources) -> Read:
    """A file or a folder."""
    if not argument:
        return Refusal("name the export: /import FILE, or a folder with exports")
    return Import(_path(argument, sources))


def read_beside(argument: str, _sources: Sources) -> Read:
    """Words of a session, `new` or `off`."""
    return ShowBeside(argument.lower() if argument.lower() in BESIDE else argument)


def read_help(argument: str, _sources: Sources) -> Read:
    """A command's name, with or without its slash, or words to search for."""
    return ShowHelp(argument.removeprefix("/").lower() or None)


def read_new(argument: str, _sources: Sources) -> Read:
    """A title."""
    return NewSession(clean_line(argument) or None)


def read_sessions(argument: str, _sources: Sources) -> Read:
    """What to search for."""
    return ShowSessions(argument)


def read_model(argument: str, _sources: Sources) -> Read:
    """A file or a name."""
    return LoadTarget(unquoted(argument)) if argument else ShowModels("target")


def read_draft(argument: str, _sources: Sources) -> Read:
    """A file, a name, or none."""
    if not argument:
        return ShowModels("draft")
    return LoadDraft(None if argument.lower() == NONE else unquoted(argument))


def read_system(argument: str, _sources: Sources) -> Read:
    """The text, or none."""
    if not argument:
        return ShowSystem()
    return SetSystem(None if argument.lower() == NONE else argument)


def read_statistics(argument: str, _sources: Sources) -> Read:
    """The last turn, the session, or the pair."""
    for scope in SCOPES:
        if argument.lower() == scope:
            return ShowStatistics(scope)
    return (
        Refusal(f"there are no statistics of {argument!r}: use {', '.join(SCOPES)}") if argument else ShowStatistics()
    )


def read_replay(argument: str, sources: Sources) -> Read:
    """The file of a trace."""
    return Replay(_path(argument, sources) if argument else None)


def read_step(argument: str, _sources: Sources) -> Read:
    """on, off, or nothing to switch."""
    if argument and argument.lower() not in SWITCH:
        return Refusal(f"step mode is {argument!r}: use on, off, or nothing to switch")
    return StepMode(argument.lower() == "on" if argument else None)


def read_export(argument: str, sources: Sources) -> Read:
    """A kind of file, and a path."""
    typed, _, file = argument.partition(" ")
    for kind in EXPORT_KINDS:
        if {"md": "markdown"}.get(typed.lower(), typed.lower()) == kind:
            return Export(kind, _path(file.strip(), sources) if file.strip() else None)
    hint = closest(typed, EXPORT_KINDS)
    return Refusal(f"there is no export {typed!r}: {hint}" if typed else f"name the kind of export: {hint}")


def read_attach(argument: str, _sources: Sources) -> Read:
    """A file, as the user wrote it."""
    return Attach(unquoted(argument)) if argument else Refusal("name the file: /attach FILE, or @FILE in a message")


def read_learn(argument: str, _sources: Sources) -> Read:
    """on, off, back or forget; nothing to show what was learned."""
    for action in LEARN_ACTIONS:
        if action == (argument.lower() or "show"):
            return Learn(action)
    return Refusal(f"{argument!r} says nothing about learning: {closest(argument, LEARN_ACTIONS)}")


def read_store(argument: str, _sources: Sources) -> Read:
    """on or off with the name of a store; nothing to show them."""
    if not argument:
        return UseStore()
    switch, _, name = argument.partition(" ")
    if switch.lower() not in SWITCH or not name.strip():
        return Refusal(f"{argument!r} is not understood: /store on NAME, /store off NAME, or /store alone")
    return UseStore(name.strip(), switch.lower() == "on")


def read_tools(argument: str, sources: Sources) -> Read:
    """on or off with the name of a server or "builtin", or the name of a file to read; nothing to show the tools."""
    if not argument:
        return UseTools()
    switch, _, name = argument.partition(" ")
    if name.strip() and switch.lower() == TOOL_FILE:
        return NameFile(_path(name.strip().removeprefix("@"), sources))
    if switch.lower() not in SWITCH or not name.strip():
        return Refusal(f"{argument!r} is not understood: /tools on NAME, off NAME, file PATH, or /tools alone")
    return UseTools(name.strip(), switch.lower() == "on")


def read_predict(argument: str, sources: Sources) -> Read:
    """A file that the answer will repeat."""
    file = argument.removeprefix("@")
    return Predict(_path(file, sources)) if file else Refusal("name the file that will be repeated: /predict FILE")


def read_copy(argument: str, _sources: Sources) -> Read:
    """What to copy: a part, or the number of a code block."""
    if argument.isascii() and argument.isdigit() and int(argument) > 0:
        return Copy(int(argument))
    for part in PARTS:
        if argument.lower() == part:
            return Copy(part)
    return Refusal(f"{argument!r} cannot be copied: use {', '.join(PARTS)}, or a number") if argument else Copy()


def read_theme(argument: str, sources: Sources) -> Read:
    """A theme's name."""
    found = named(argument, sources.themes(), "theme")
    return found if isinstance(found, Refusal) else SetTheme(found)


def unquoted(text: str) -> str:
    """A file's name without the quotes around it; the closing one may be missing."""
    return text[1:].removesuffix('"') if text.startswith('"') else text


def named(argument: str, known: Iterable[tuple[str, str]], what: str) -> str | Refusal | None:
    """The listed name, ignoring case; None if nothing was typed, and the argument itself if the list is empty."""
    names = [name for name, _ in known]
    for name in names:
        if name.lower() == argument.lower():
            return name
    if argument and names:
        return Refusal(f"there is no {what} {argument}: {closest(argument, names)}")
    return argument or None


def _path(argument: str, sources: Sources) -> Path:
    return sources.folder / expanded(Path(unquoted(argument)))
