"""Presets: named sampling parameters. A few come with the application; `presets.toml` holds the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from specchat.errors import ConfigError
from specchat.files import CONFIG_BYTES, bounded_text, reading_toml, replace_text
from specchat.settings.paths import presets_file
from specchat.settings.schema import BY_KEY, SETTINGS
from specchat.settings.setting import SettingGroup
from specchat.settings.values import BadValue
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

_KEYS = tuple(setting.key for setting in SETTINGS if setting.group is SettingGroup.SAMPLING)
"""What a preset can set. A grammar and biases belong to a task or a vocabulary, and no preset changes them."""

_LONGEST_NAME = 40
_HEAD = "# specchat rewrites this file whenever a preset is saved or removed; you may change the values by hand.\n"


@dataclass(frozen=True, slots=True)
class Preset:
    """Sampling parameters with a name and a sentence about them. The model recommends what `values` leaves out."""

    name: str
    sentence: str
    values: Mapping[str, float]
    built_in: bool = False


def _defaults() -> dict[str, float]:
    """llama.cpp's sampling parameters."""
    return {key: getattr(SamplingParams(), key) for key in _KEYS}


BUILT_IN = (
    Preset("recommended", "What the model's author recommends, else llama.cpp's defaults.", {}, built_in=True),
    Preset(
        "greedy",
        "Always the most likely token: the same answer each time.",
        {"temperature": 0.0, "repeat_penalty": 1.0, "frequency_penalty": 0.0, "presence_penalty": 0.0},
        built_in=True,
    ),
    Preset(
        "precise",
        "Little randomness, for code, facts and translations.",
        {"temperature": 0.3, "top_k": 40, "top_p": 0.9, "min_p": 0.1, "typical_p": 1.0},
        built_in=True,
    ),
    Preset("balanced", "llama.cpp's defaults, for most conversations.", _defaults(), built_in=True),
    Preset(
        "creative",
        "More randomness, for stories and ideas; fewer drafted tokens are accepted.",
        {"temperature": 1.2, "top_k": 0, "top_p": 1.0, "min_p": 0.05, "typical_p": 1.0},
        built_in=True,
    ),
)


def apply(settings: Settings, preset: Preset, recommended: SamplingParams) -> Settings:
    """The settings with the preset's sampling; the grammar, the biases and all other settings stay.

    `recommended` is what the loaded model recommends.
    """
    kept = {field.name: getattr(settings.sampling, field.name) for field in fields(SamplingParams)}
    kept = {name: value for name, value in kept.items() if name not in _KEYS}
    chosen: Mapping[str, Any] = preset.values
    return replace(settings, sampling=replace(recommended, **chosen, **kept))


def preset_of(name: str, sampling: SamplingParams) -> Preset:
    """A preset of these parameters under this name. Raises ConfigError for a name that it cannot have."""
    values = {key: getattr(sampling, key) for key in _KEYS}
    return Preset(_checked(name), _summary(values), values)


def read_presets() -> tuple[Preset, ...]:
    """The built-in presets, then the user's by name.

    Raises ConfigError for a file that cannot be used.
    """
    own = _read_own()
    return (*BUILT_IN, *(own[name] for name in sorted(own, key=str.casefold)))


def preset_names() -> list[tuple[str, str]]:
    """The name and sentence of each preset; only the built-in ones if the user's file cannot be used."""
    try:
        return [(preset.name, preset.sentence) for preset in read_presets()]
    except ConfigError:
        return [(preset.name, preset.sentence) for preset in BUILT_IN]


def is_built_in(name: str) -> bool:
    """True for the name of a preset that comes with the application."""
    return any(preset.name == name for preset in BUILT_IN)


def find_preset(name: str) -> Preset:
    """The preset of this name. Raises ConfigError if there is none, or if the file cannot be used."""
    presets = read_presets()
    for preset in presets:
        if preset.name == name.strip():
            return preset
    raise ConfigError(f"there is no preset {name!r}: use {', '.join(preset.name for preset in presets)}")


def save_preset(preset: Preset) -> None:
    """Stores a preset in the file, replacing the user's own of that name.

    Raises ConfigError if the file cannot be written, or holds something unreadable, which is never overwritten.
    """
    _write({**_read_own(), _checked(preset.name): preset})


def forget_preset(name: str) -> None:
    """Removes one of the user's presets.

    Raises ConfigError if it is built in or there is none, and if the file cannot be written.
    """
    if is_built_in(name):
        raise ConfigError(f"the preset {name!r} is built in: it cannot be removed")
    own = _read_own()
    if name not in own:
        raise ConfigError(f"there is no preset {name!r} of your own: you have {', '.join(own) or 'none'}")
    del own[name]
    _write(own)


def _checked(name: str) -> str:
    name = name.strip()
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ConfigError(f"a preset cannot be named {name!r}: use 1 to {_LONGEST_NAME} printable characters")
    if is_built_in(name):
        raise ConfigError(f"the preset {name!r} is built in: choose another name")
    return name


def _summary(values: Mapping[str, float]) -> str:
    """The temperature and whatever differs from llama.cpp's defaults."""
    usual = _defaults()
    parts = [
        f"{key.replace('_', ' ')} {value:g}"
        for key, value in values.items()
        if value != usual[key] or key == "temperature"
    ]
    return ", ".join(parts) or "Leaves everything to the model."


def _read_own() -> dict[str, Preset]:
    file = presets_file()
    with reading_toml(file):
        tables = tomllib.loads(bounded_text(file, CONFIG_BYTES) if file.exists() else "")
    try:
        return {name: _read_one(name, table) for name, table in tables.items()}
    except ConfigError as error:
        raise ConfigError(f"{file}: {error}") from None


def _read_one(name: str, table: object) -> Preset:
    if not isinstance(table, dict):
        raise ConfigError(
            f"{name} is {table!r}: use a table of values, such as [{name}] and temperature = 0.7 below it"
        )
    _checked(name)
    if unknown := table.keys() - set(_KEYS):
        raise ConfigError(f"the preset {name!r} sets {', '.join(sorted(unknown))}: known are {', '.join(_KEYS)}")
    values = {}
    for key, value in table.items():
        try:
            values[key] = BY_KEY[key].kind.read(value)
        except BadValue as error:
            raise ConfigError(error.about(f"{key} of the preset {name!r}", value)) from None
    return Preset(name, _summary(values), values)


def _write(presets: Mapping[str, Preset]) -> None:
    file = presets_file()
    try:
        replace_text(file, _HEAD + "".join(_table(preset) for preset in presets.values()))
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}; make its folder writable") from None


def _table(preset: Preset) -> str:
    name = preset.name.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(["", f'["{name}"]', *(f"{key} = {value!r}" for key, value in preset.values.items())]) + "\n"
