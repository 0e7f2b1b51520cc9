"""Commands that turn settings: one of them, speculation, or all of sampling by a template."""

from __future__ import annotations

from typing import Literal

from specchat.chat.commands.invocations import (
    ApplyPreset,
    ForgetPreset,
    Refusal,
    Reload,
    SavePreset,
    SetSeed,
    Speculate,
    Turn,
)
from specchat.chat.commands.readers import Read, Reader, closest, named
from specchat.chat.commands.settable import ALIASES, Settable, settables
from specchat.chat.commands.sources import Sources
from specchat.chat.load_dials import LOADABLE, LoadDial
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings

MODES: tuple[Literal["on", "off", "auto"], ...] = ("on", "off", "auto")
SAVE, FORGET = "save", "forget"

_SEED_LIMIT = 2**64


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


def read_preset(argument: str, sources: Sources) -> Read:
    """A template's name, alone or behind what is to be done with it."""
    known = tuple(sources.presets())
    word, _, name = argument.partition(" ")
    if word.lower() not in (SAVE, FORGET) or any(argument.lower() == one.lower() for one, _ in known):
        found = named(argument, known, "preset")
        return found if isinstance(found, Refusal) else ApplyPreset(found)
    if not (name := name.strip()):
        return Refusal(f"say the name: /preset {word.lower()} NAME")
    if word.lower() == SAVE:
        return SavePreset(name)
    found = named(name, known, "preset")
    return found if isinstance(found, Refusal) else ForgetPreset(found or name)


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
