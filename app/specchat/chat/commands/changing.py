"""Commands that change settings: a single one, speculation as a whole, or all of sampling by a preset.

`do_preset` also does what `/preset` asks for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from specchat.chat.commands.invocations import (
    ApplyPreset,
    Change,
    ForgetPreset,
    Refusal,
    Reload,
    SavePreset,
    SetSeed,
    Speculate,
    UseSwitch,
)
from specchat.chat.commands.reading import Read, Reader, Sources, closest, named
from specchat.chat.knobs import LOAD_KNOBS, Holder, Knob, live_knobs
from specchat.settings.presets import apply, find_preset, forget_preset, preset_of, read_presets, save_preset
from specchat.settings.schema import BY_KEY, SETTINGS
from specchat.settings.values import BadValue, Choice, OnOff
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

MODES: tuple[Literal["on", "off", "auto"], ...] = ("on", "off", "auto")
SAVE, FORGET = "save", "forget"
NEW_SEED = "-1"

SWITCHES = {setting.typed: setting for setting in SETTINGS if isinstance(setting.kind, OnOff)}
"""Settings of the app that are on or off, by their names in `/set`."""

_SEED = BY_KEY["seed"]
_ALIASES = {flag.lstrip("-"): setting.typed for setting in SETTINGS for flag in setting.flags} | {
    "ctx": "ctx-size",
    "context": "ctx-size",
}
"""Other names that `/set` takes: those of the flags, and two for the context."""


OfPresets = ApplyPreset | SavePreset | ForgetPreset


def setting_named(name: str) -> str:
    """The name in `/set` of a setting that may be named by a flag, or with underscores."""
    name = name.lower().replace("_", "-")
    return _ALIASES.get(name, name)


def setter(key: str) -> Reader:
    """A command for one setting."""

    def read(argument: str, sources: Sources) -> Read:
        knob = live_knobs(sources.drafters, sources.k_max)[key]
        return _refused(knob, argument, Settings()) or Change(knob, argument)

    return read


def switch(key: str) -> Reader:
    """A command for a setting of the app that is on or off; without a word it is switched over."""

    def read(argument: str, _sources: Sources) -> Read:
        try:
            return UseSwitch(key, BY_KEY[key].kind.read(argument) if argument else None)
        except BadValue as error:
            return Refusal(error.about(BY_KEY[key].typed, argument))

    return read


def read_set(argument: str, sources: Sources) -> Read:
    """The name of a setting and a value."""
    live = live_knobs(sources.drafters, sources.k_max)
    typed, _, value = argument.partition(" ")
    name, value = setting_named(typed), value.strip()
    known = (*live, _SEED.typed, *SWITCHES, *LOAD_KNOBS)
    if not typed:
        return Refusal(f"name the setting: use {', '.join(known)}")
    if name == _SEED.typed:
        return _read_seed(value)
    if name in SWITCHES:
        return switch(SWITCHES[name].key)(value, sources) if value else Refusal(f"{name} needs a value: use on or off")
    if name in LOAD_KNOBS:
        return _refused(LOAD_KNOBS[name], value, LoadOptions()) or Reload(LOAD_KNOBS[name], value)
    if name in live:
        return _refused(live[name], value, Settings()) or Change(live[name], value)
    return Refusal(f"there is no setting {typed}: {closest(name, known)}")


def read_mode(argument: str, _sources: Sources) -> Read:
    """on, off or auto."""
    for mode in MODES:
        if argument.lower() == mode:
            return Speculate(mode)
    return Refusal(f"speculation is {argument!r}: use {', '.join(MODES)}" if argument else "use on, off or auto")


def read_preset(argument: str, sources: Sources) -> Read:
    """A preset's name, alone or after what to do with it."""
    known = tuple(sources.presets())
    word, _, name = argument.partition(" ")
    if word.lower() not in (SAVE, FORGET) or any(argument.lower() == one.lower() for one, _ in known):
        found = named(argument, known, "preset")
        return found if isinstance(found, Refusal) else ApplyPreset(found)
    if not (name := name.strip()):
        return Refusal(f"name the preset: /preset {word.lower()} NAME")
    if word.lower() == SAVE:
        return SavePreset(name)
    found = named(name, known, "preset")
    return found if isinstance(found, Refusal) else ForgetPreset(found or name)


@dataclass(frozen=True, slots=True)
class PresetDone:
    """What to say to the user, in one line or more, and the settings if they have changed."""

    words: str
    settings: Settings | None = None


def do_preset(invocation: OfPresets, settings: Settings, recommended: SamplingParams) -> PresetDone:
    """Does what a command asks for; `recommended` is what the loaded model recommends.

    Raises ConfigError if it cannot be done.
    """
    match invocation:
        case SavePreset(name):
            preset = preset_of(name, settings.sampling)
            save_preset(preset)
            return PresetDone(f"saved: /preset {preset.name} is {preset.sentence}")
        case ForgetPreset(name):
            forget_preset(name)
            return PresetDone(f"removed: {name}")
        case ApplyPreset(name) if name is not None:
            return PresetDone(f"{name} from the next round on", apply(settings, find_preset(name), recommended))
        case _:
            listed = [f"{preset.name}: {preset.sentence}" for preset in read_presets()]
            return PresetDone("\n".join(["/preset NAME applies one of these:", *listed]))


def _refused(knob: Knob[Holder], value: str, usual: Holder) -> Refusal | None:
    """Why the setting cannot have this value, or None. `usual` holds the default, which is named as an example."""
    if not value and isinstance(knob.kind, Choice):
        return Refusal(f"{knob.key} needs a value: {knob.kind.rule.remedy}")
    if not value:
        example = knob.text(usual)
        number = example.partition(" ")[0] if example[0].isdigit() else example
        return Refusal(f"{knob.key} needs a value, such as {number}")
    try:
        knob.typed(usual, value)
    except SettingError as error:
        return Refusal(str(error))
    return None


def _read_seed(value: str) -> Read:
    try:
        seed = _SEED.kind.read(NEW_SEED if value == "new" else value)
    except BadValue as error:
        return Refusal(error.about(_SEED.typed, value))
    return SetSeed(None if seed == -1 else seed)
