"""From the text behind a command's name to what it asks for, or to one line that says why that cannot be."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import Literal, get_args

from specchat.chat.commands.invocations import (
    ApplyPreset,
    Attach,
    Copy,
    Export,
    ExportKind,
    Invocation,
    LoadDraft,
    LoadTarget,
    NewSession,
    Part,
    Refusal,
    Reload,
    Replay,
    Scope,
    SetSeed,
    SetSystem,
    SetTheme,
    ShowHelp,
    ShowModels,
    ShowSessions,
    ShowStatistics,
    ShowSystem,
    Speculate,
    StepMode,
    Turn,
)
from specchat.chat.commands.settable import ALIASES, Settable, settables
from specchat.chat.commands.sources import Sources
from specchat.chat.load_dials import LOADABLE, LoadDial
from specchat.paths import expanded
from specchat.terminal import clean_line
from specchat_engine.errors import SettingError
from specchat_engine.options import LoadOptions
from specchat_engine.settings import Settings

Read = Invocation | Refusal
Reader = Callable[[str, Sources], Read]

NONE = "none"
EXPORT_KINDS: tuple[ExportKind, ...] = get_args(ExportKind)
MODES: tuple[Literal["on", "off", "auto"], ...] = ("on", "off", "auto")
SWITCH = ("on", "off")
SCOPES: tuple[Scope, ...] = get_args(Scope)
PARTS: tuple[Part, ...] = get_args(Part)

_SEED_LIMIT = 2**64


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name that this one is probably meant to be."""
    close = difflib.get_close_matches(name.lower(), known, 1)
    return close[0] if close else None


def closest(name: str, known: Collection[str]) -> str:
    """`did you mean X?`, or what there is where nothing is close."""
    near = nearest(name, known)
    return f"did you mean {near}?" if near else f"use {', '.join(known)}"


def alone(invocation: Invocation) -> Reader:
    """A command that takes nothing behind its name."""

    def read(argument: str, _sources: Sources) -> Read:
        return invocation if not argument else Refusal(f"this command takes nothing behind it: leave {argument!r} away")

    return read


def read_help(argument: str, _sources: Sources) -> Read:
    """A command's name, with or without its slash."""
    return ShowHelp(argument.removeprefix("/").lower() or None)


def read_new(argument: str, _sources: Sources) -> Read:
    """A title."""
    return NewSession(clean_line(argument) or None)


def read_sessions(argument: str, _sources: Sources) -> Read:
    """What to look for."""
    return ShowSessions(argument)


def read_model(argument: str, _sources: Sources) -> Read:
    """A file or a name."""
    return LoadTarget(unquoted(argument)) if argument else ShowModels("target")


def read_draft(argument: str, _sources: Sources) -> Read:
    """A file, a name, or none."""
    if not argument:
        return ShowModels("draft")
    return LoadDraft(None if argument.lower() == NONE else unquoted(argument))


def setter(key: str) -> Reader:
    """A command for one setting."""

    def read(argument: str, sources: Sources) -> Read:
        return _turned(settables(sources.drafters, sources.k_max)[key], argument)

    return read


def read_set(argument: str, sources: Sources) -> Read:
    """A key and a value."""
    known = settables(sources.drafters, sources.k_max)
    typed, _, value = argument.partition(" ")
    key = typed.lower().replace("_", "-")
    key = ALIASES.get(key, key)
    if not typed:
        return Refusal(f"say what to set: use {', '.join((*known, 'seed', *LOADABLE))}")
    if key == "seed":
        return _read_seed(value.strip())
    if key in LOADABLE:
        return _reloaded(LOADABLE[key], value.strip())
    if key not in known:
        return Refusal(f"there is no setting {typed}: {closest(key, (*known, *LOADABLE, 'seed'))}")
    return _turned(known[key], value.strip())


def read_mode(argument: str, _sources: Sources) -> Read:
    """on, off or auto."""
    for mode in MODES:
        if argument.lower() == mode:
            return Speculate(mode)
    return Refusal(f"speculation is {argument!r}: use {', '.join(MODES)}" if argument else "use on, off or auto")


def read_system(argument: str, _sources: Sources) -> Read:
    """The text, or none."""
    if not argument:
        return ShowSystem()
    return SetSystem(None if argument.lower() == NONE else argument)


def read_statistics(argument: str, _sources: Sources) -> Read:
    """Of what."""
    for scope in SCOPES:
        if argument.lower() == scope:
            return ShowStatistics(scope)
    return (
        Refusal(f"there are no statistics of {argument!r}: use {', '.join(SCOPES)}") if argument else ShowStatistics()
    )


def read_replay(argument: str, sources: Sources) -> Read:
    """A trace's file."""
    return Replay(_path(argument, sources) if argument else None)


def read_step(argument: str, _sources: Sources) -> Read:
    """on, off, or nothing for the other one."""
    if argument and argument.lower() not in SWITCH:
        return Refusal(f"step mode is {argument!r}: use on, off, or nothing for the other one")
    return StepMode(argument.lower() == "on" if argument else None)


def read_export(argument: str, sources: Sources) -> Read:
    """A kind, and a file."""
    typed, _, file = argument.partition(" ")
    for kind in EXPORT_KINDS:
        if {"md": "markdown"}.get(typed.lower(), typed.lower()) == kind:
            return Export(kind, _path(file.strip(), sources) if file.strip() else None)
    hint = closest(typed, EXPORT_KINDS)
    return Refusal(f"there is no export as {typed!r}: {hint}" if typed else f"say as what to export: {hint}")


def read_attach(argument: str, _sources: Sources) -> Read:
    """A file's name as it is written."""
    return (
        Attach(unquoted(argument)) if argument else Refusal("say what to attach: /attach FILE, or @FILE in a message")
    )


def read_copy(argument: str, _sources: Sources) -> Read:
    """What to copy."""
    for part in PARTS:
        if argument.lower() == part:
            return Copy(part)
    return Refusal(f"{argument!r} cannot be copied: use {', '.join(PARTS)}") if argument else Copy()


def read_theme(argument: str, sources: Sources) -> Read:
    """A theme's name."""
    named = _named(argument, sources.themes(), "theme")
    return named if isinstance(named, Refusal) else SetTheme(named)


def read_preset(argument: str, sources: Sources) -> Read:
    """A template's name."""
    named = _named(argument, sources.presets(), "preset")
    return named if isinstance(named, Refusal) else ApplyPreset(named)


def unquoted(text: str) -> str:
    """A file's name without the quotes around it; the last one may be missing."""
    return text[1:].removesuffix('"') if text.startswith('"') else text


def _named(argument: str, known: Iterable[tuple[str, str]], what: str) -> str | Refusal | None:
    names = [name for name, _ in known]
    for name in names:
        if name.lower() == argument.lower():
            return name
    if argument and names:
        return Refusal(f"there is no {what} {argument}: {closest(argument, names)}")
    return argument or None


def _path(argument: str, sources: Sources) -> Path:
    return sources.folder / expanded(Path(unquoted(argument)))


def _turned(setting: Settable, value: str) -> Read:
    if not value:
        return Refusal(f"{setting.label} needs a value behind it")
    try:
        setting.typed(Settings(), value)
    except SettingError as error:
        return Refusal(str(error))
    return Turn(setting, value)


def _reloaded(setting: LoadDial, value: str) -> Read:
    if not value:
        return Refusal(f"{setting.key} needs a value behind it; the models are then loaded again")
    try:
        setting.typed(LoadOptions(), value)
    except SettingError as error:
        return Refusal(str(error))
    return Reload(setting, value)


def _read_seed(value: str) -> Read:
    if value in ("-1", "new"):
        return SetSeed(None)
    if not (value.isascii() and value.isdigit()) or int(value) >= _SEED_LIMIT:
        return Refusal(f"seed is {value!r}: use 0 to 2^64 - 1, or -1 for a new one")
    return SetSeed(int(value))
