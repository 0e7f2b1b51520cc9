"""`/set` for any setting, and the settings that have commands of their own: /k, /think, /temp, /math, /vi."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from specchat.chat.commands.command import SWITCH, Choices, Command, Refusal, closest, fixed, settings_in_force
from specchat.chat.controller import ChatController, FrontEnd, Sources
from specchat.chat.knobs import LOAD_KNOBS, Holder, Knob, live_knobs
from specchat.chat.server_limits import LOADING, drafts_by_itself
from specchat.engine_process.protocol import ServerInfo
from specchat.remote.limits import needs_this_machine
from specchat.settings.schema import BY_KEY, SETTINGS
from specchat.settings.setting import SettingGroup
from specchat.settings.values import BadValue, Choice, OnOff
from specchat.store.records import new_seed
from specchat_engine.allowed import AUTO
from specchat_engine.errors import SettingError
from specchat_engine.load_options import LoadOptions
from specchat_engine.settings import Settings

_NEW_SEED = "-1"
_SEED = BY_KEY["seed"]
_SWITCHES = {setting.typed: setting for setting in SETTINGS if isinstance(setting.kind, OnOff)}
"""Settings of the app that are on or off, by their names in `/set`."""

_ALIASES = {flag.lstrip("-"): setting.typed for setting in SETTINGS for flag in setting.flags} | {
    "ctx": "ctx-size",
    "context": "ctx-size",
}
"""Other names that `/set` takes: those of the flags, and two for the context."""


class LiveChange(NamedTuple):
    """A setting with a value that was checked, from the next round on."""

    knob: Knob[Settings]
    value: str


class LoadChange(NamedTuple):
    """An option with a value that was checked, with which the same models are loaded again."""

    knob: Knob[LoadOptions]
    value: str


class SeedChange(NamedTuple):
    """The seed of the session; None for a new one."""

    seed: int | None


class SwitchChange(NamedTuple):
    """A setting of the app that is on or off; None switches it over."""

    key: str
    on: bool | None = None


SettingChange = LiveChange | LoadChange | SeedChange | SwitchChange


def setting_named(name: str) -> str:
    """The name in `/set` of a setting that may be named by a flag, or with underscores."""
    name = name.lower().replace("_", "-")
    return _ALIASES.get(name, name)


def settable(sources: Sources, _before: str) -> Iterable[tuple[str, str]]:
    """All settings that `/set` changes, each with its help."""
    live = live_knobs(sources.drafters, sources.k_max)
    yield from ((name, knob.setting.help) for name, knob in live.items())
    yield "seed", _SEED.help
    yield from ((name, setting.help) for name, setting in _SWITCHES.items())
    for name, knob in LOAD_KNOBS.items():
        yield name, knob.setting.help if knob.setting.is_threads else f"{knob.setting.help} (loads the models again)"


def _values(sources: Sources, before: str) -> Iterable[tuple[str, str]]:
    name = setting_named(before)
    if name in _SWITCHES:
        return ((value, "") for value in SWITCH)
    knob = LOAD_KNOBS.get(name) or live_knobs(sources.drafters, sources.k_max).get(name)
    return ((value, "") for value in knob.names) if knob is not None else ()


def _read(argument: str, sources: Sources) -> SettingChange:
    live = live_knobs(sources.drafters, sources.k_max)
    typed, _, value = argument.partition(" ")
    name, value = setting_named(typed), value.strip()
    known = (*live, _SEED.typed, *_SWITCHES, *LOAD_KNOBS)
    if not typed:
        raise Refusal(f"name the setting: use {', '.join(known)}")
    if name == _SEED.typed:
        return _seed(value)
    if name in _SWITCHES:
        if not value:
            raise Refusal(f"{name} needs a value: use on or off")
        return _switch(_SWITCHES[name].key)(value, sources)
    if name in LOAD_KNOBS:
        return LoadChange(LOAD_KNOBS[name], _checked(LOAD_KNOBS[name], value, LoadOptions()))
    if name in live:
        return LiveChange(live[name], _checked(live[name], value, Settings()))
    raise Refusal(f"there is no setting {typed}: {closest(typed, known)}")


def _live(key: str) -> Callable[[str, Sources], LiveChange]:
    """Reads the value of one setting."""

    def read(argument: str, sources: Sources) -> LiveChange:
        knob = live_knobs(sources.drafters, sources.k_max)[key]
        return LiveChange(knob, _checked(knob, argument, Settings()))

    return read


def _switch(key: str) -> Callable[[str, Sources], SwitchChange]:
    """Reads on, off, or nothing to switch over."""

    def read(argument: str, _sources: Sources) -> SwitchChange:
        try:
            return SwitchChange(key, bool(BY_KEY[key].kind.read(argument)) if argument else None)
        except BadValue as error:
            raise Refusal(error.about(BY_KEY[key].typed, argument)) from None

    return read


def _seed(value: str) -> SeedChange:
    try:
        seed = _SEED.kind.read(_NEW_SEED if value == "new" else value)
    except BadValue as error:
        raise Refusal(error.about(_SEED.typed, value)) from None
    return SeedChange(None if seed == -1 else seed)


def _checked(knob: Knob[Holder], value: str, usual: Holder) -> str:
    """The value, if the setting can have it. `usual` holds the default, which is named as an example."""
    if not value and isinstance(knob.kind, Choice):
        raise Refusal(f"{knob.key} needs a value: {knob.kind.rule.remedy}")
    if not value:
        example = knob.text(usual)
        number = example.partition(" ")[0] if example[0].isdigit() else example
        raise Refusal(f"{knob.key} needs a value, such as {number}")
    try:
        knob.typed(usual, value)
    except SettingError as error:
        raise Refusal(str(error)) from None
    return value


def _refused(change: SettingChange, server: ServerInfo) -> str:
    if isinstance(change, LoadChange):
        return needs_this_machine(LOADING)
    drafting = isinstance(change, LiveChange) and change.knob.setting.group is SettingGroup.DRAFTING
    return drafts_by_itself(server) if drafting and not server.steered else ""


async def _run(chat: ChatController, ui: FrontEnd, change: SettingChange) -> None:
    match change:
        case LiveChange(knob, value):
            if (settings := settings_in_force(chat, ui)) is not None:
                changed = knob.typed(settings, value)
                unit = "answer" if knob.setting.by_answer else "round"
                ui.apply(changed, f"{knob.key} is {knob.text(changed)} from the next {unit} on.")
        case LoadChange(knob, value):
            await ui.show("load again", lambda options: knob.typed(options, value))
        case SeedChange(seed):
            chosen = new_seed() if seed is None else seed
            chat.change(seed=chosen)
            ui.refresh()
            ui.note(f"seed {chosen} from the next answer on")
        case SwitchChange(key, on):
            await ui.show(key, on)


def _command(
    name: str,
    arguments: str,
    about: str,
    read: Callable[[str, Sources], SettingChange],
    *words: Choices,
    order: int,
    plain: bool = True,
) -> Command[SettingChange]:
    return Command(name, arguments, about, read, _run, order=order, words=words, plain=plain, refuses=_refused)


_LEVELS = ("on", "off", "low", "medium", "high", AUTO)
_ON_OFF = fixed(*SWITCH)

K = _command(
    "k", "auto|0|1|2|…", "The most tokens drafted in a round; 0 is plain.", _live("k"), fixed("auto"), order=80
)
THINK = _command(
    "think",
    "|".join(_LEVELS),
    "How much a reasoning model thinks before it answers.",
    _live("thinking"),
    fixed(*_LEVELS),
    order=100,
)
TEMP = _command("temp", "NUMBER", "The temperature; 0 is greedy.", _live("temperature"), order=110)
SET = _command("set", "KEY VALUE", "Any setting; some load the models again.", _read, settable, _values, order=120)
MATH = _command(
    "math", "[on|off]", "Formulas in answers shown in Unicode.", _switch("math"), _ON_OFF, order=390, plain=False
)
VI = _command("vi", "[on|off]", "vi's keys in the prompt.", _switch("vi_keys"), _ON_OFF, order=400, plain=False)
