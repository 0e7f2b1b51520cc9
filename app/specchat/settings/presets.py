"""Templates for sampling parameters: a few that come with the application, and the user's own in `presets.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from specchat.errors import ConfigError
from specchat.files import reading_toml, replace_text
from specchat.settings.options import SamplingOverrides
from specchat.settings.paths import presets_file
from specchat_engine.errors import SettingError
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.settings import Settings

_NOT_IN_A_PRESET = ("logit_bias", "grammar")
"""They belong to a task or a vocabulary, and stay as they are when a template is applied."""

_KEYS = tuple(field.name for field in fields(SamplingOverrides) if field.name not in _NOT_IN_A_PRESET)
_WHOLE_NUMBERS = ("top_k", "penalty_last_n")
_LONGEST_NAME = 40

_HEAD = "# Written anew by specchat whenever a preset is saved or forgotten; values may be changed here by hand.\n"


@dataclass(frozen=True, slots=True)
class Preset:
    """A template with a name and a sentence about it. What it leaves open is what the model recommends."""

    name: str
    sentence: str
    values: SamplingOverrides
    built_in: bool = False


BUILT_IN = (
    Preset(
        "recommended",
        "What the model's author recommends, and llama.cpp's defaults where there is no word of it.",
        SamplingOverrides(),
        built_in=True,
    ),
    Preset(
        "greedy",
        "Always the likeliest token: the same answer each time.",
        SamplingOverrides(temperature=0.0, repeat_penalty=1.0, frequency_penalty=0.0, presence_penalty=0.0),
        built_in=True,
    ),
    Preset(
        "precise",
        "Little chance, for code, facts and translations.",
        SamplingOverrides(temperature=0.3, top_k=40, top_p=0.9, min_p=0.1, typical_p=1.0),
        built_in=True,
    ),
    Preset(
        "balanced",
        "llama.cpp's defaults, for most conversations.",
        SamplingOverrides(
            **{key: value for key, value in SamplingParams().to_json().items() if key not in _NOT_IN_A_PRESET}
        ),
        built_in=True,
    ),
    Preset(
        "creative",
        "More chance, for stories and ideas; drafts are accepted less often.",
        SamplingOverrides(temperature=1.2, top_k=0, top_p=1.0, min_p=0.05, typical_p=1.0),
        built_in=True,
    ),
)


def apply(settings: Settings, preset: Preset, recommended: SamplingParams) -> Settings:
    """The settings with the preset's sampling; a grammar and biases stay, and all that is not sampling.

    `recommended` is what the loaded model recommends.
    """
    kept: dict[str, Any] = {name: getattr(settings.sampling, name) for name in _NOT_IN_A_PRESET}
    return replace(settings, sampling=replace(preset.values.over(recommended), **kept))


def preset_of(name: str, sampling: SamplingParams) -> Preset:
    """A preset of the parameters as they are now, under this name. Raises ConfigError for a name it cannot have."""
    chosen: dict[str, Any] = {key: getattr(sampling, key) for key in _KEYS}
    return Preset(_checked(name), _summary(chosen), SamplingOverrides(**chosen))


def read_presets() -> tuple[Preset, ...]:
    """The built-in presets and then the user's, by name.

    Raises ConfigError, in one line, for a file that cannot be used: where, what it is, what to do.
    """
    own = _read_own()
    return (*BUILT_IN, *(own[name] for name in sorted(own, key=str.casefold)))


def preset_names() -> list[tuple[str, str]]:
    """The name of each preset with its sentence; only the built-in ones where the user's file cannot be used."""
    try:
        return [(preset.name, preset.sentence) for preset in read_presets()]
    except ConfigError:
        return [(preset.name, preset.sentence) for preset in BUILT_IN]


def is_built_in(name: str) -> bool:
    """Whether this is the name of a preset that comes with the application."""
    return any(preset.name == name for preset in BUILT_IN)


def find_preset(name: str) -> Preset:
    """The preset of this name. Raises ConfigError where there is none, or the file cannot be used."""
    presets = read_presets()
    for preset in presets:
        if preset.name == name.strip():
            return preset
    raise ConfigError(f"there is no preset {name!r}: use {', '.join(preset.name for preset in presets)}")


def save_preset(preset: Preset) -> None:
    """Keeps a preset, in the place of the user's own of that name.

    Raises ConfigError where the file cannot be written, or holds what cannot be read: that is never overwritten.
    """
    _write({**_read_own(), _checked(preset.name): preset})


def forget_preset(name: str) -> None:
    """Removes one of the user's presets.

    Raises ConfigError where it is built in or there is none, and where the file cannot be written.
    """
    if is_built_in(name):
        raise ConfigError(f"the preset {name!r} is built in: it stays")
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


def _summary(values: Mapping[str, Any]) -> str:
    """A preset of the user's own is described by what makes it differ from llama.cpp's defaults."""
    usual = SamplingParams()
    parts = [
        f"{key.replace('_', ' ')} {value:g}"
        for key, value in values.items()
        if value is not None and (value != getattr(usual, key) or key == "temperature")
    ]
    return ", ".join(parts) or "Leaves everything to the model."


def _read_own() -> dict[str, Preset]:
    file = presets_file()
    with reading_toml(file):
        tables = tomllib.loads(file.read_text(encoding="utf-8") if file.exists() else "")
    try:
        return {name: _read_one(name, table) for name, table in tables.items()}
    except (ConfigError, SettingError) as error:
        raise ConfigError(f"{file}: {error}") from None


def _read_one(name: str, table: object) -> Preset:
    if not isinstance(table, dict):
        raise ConfigError(
            f"{name} is {table!r}: use a table of values, such as [{name}] and temperature = 0.7 below it"
        )
    _checked(name)
    if unknown := table.keys() - set(_KEYS):
        raise ConfigError(f"the preset {name!r} sets {', '.join(sorted(unknown))}: known are {', '.join(_KEYS)}")
    for key, value in table.items():
        expected: tuple[type, ...] = (int,) if key in _WHOLE_NUMBERS else (int, float)
        if isinstance(value, bool) or not isinstance(value, expected):
            what = "whole number" if key in _WHOLE_NUMBERS else "number"
            raise ConfigError(f"{key} of the preset {name!r} is {value!r}: use a {what}")
    values = SamplingOverrides(**table)
    values.over(SamplingParams())
    return Preset(name, _summary(table), values)


def _write(presets: Mapping[str, Preset]) -> None:
    file = presets_file()
    try:
        replace_text(file, _HEAD + "".join(_table(preset) for preset in presets.values()))
    except OSError as error:
        raise ConfigError(f"{file} cannot be written: {error.strerror or error}; make its folder writable") from None


def _table(preset: Preset) -> str:
    name = preset.name.replace("\\", "\\\\").replace('"', '\\"')
    values = {key: getattr(preset.values, key) for key in _KEYS}
    return (
        "\n".join(["", f'["{name}"]', *(f"{key} = {value!r}" for key, value in values.items() if value is not None)])
        + "\n"
    )
