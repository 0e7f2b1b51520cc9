"""The configuration: defaults, under `config.toml`, under `SPECCHAT_*` variables, under the flags of a command."""

from __future__ import annotations

import difflib
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from specchat.errors import ConfigError
from specchat.files import CONFIG_BYTES, bounded_text, reading_toml
from specchat.settings.constraints import GRAMMAR_KEYS, check_one_grammar
from specchat.settings.paths import config_file
from specchat.settings.schema import BY_KEY, SETTINGS, Config
from specchat.settings.setting import Setting
from specchat.settings.values import BadValue, File
from specchat_engine.allowed import AUTO

TABLES = ("tools",)
"""Tables of the file that are not settings; whoever uses them reads them with `read_table`."""

_FORMER: Mapping[str, Mapping[str, object]] = {"combine": {}, "threads": {AUTO: 0}, "threads_draft": {AUTO: 0}}
"""What earlier versions read: words for values that are others now, and settings that are gone."""


@dataclass(frozen=True, slots=True)
class _Source:
    """Values as they stand in one place, by key, and how a setting is called there."""

    values: Mapping[str, object]
    name: Callable[[Setting], str]


def read_config(flags: Mapping[str, object]) -> Config:
    """The configuration under these flags; `flags` holds those that were given, by their key.

    A source that names a model but no draft, head or projector hides those of the sources below it, which belong to
    another model. In the same way one that names a grammar, in whatever form, hides all forms in the sources below.

    Raises ConfigError with one line: the place of the value, the value, what to use instead.
    """
    found: dict[str, _Source] = {}
    for source in (_file(), _variables(), _Source(flags, lambda setting: setting.flag)):
        if "model" in source.values:
            found.pop("draft", None)
            found.pop("head", None)
            found.pop("mmproj", None)
        if not source.values.keys().isdisjoint(GRAMMAR_KEYS):
            found = {key: below for key, below in found.items() if key not in GRAMMAR_KEYS}
        found |= dict.fromkeys(source.values, source)
    config = Config(**{key: _read(BY_KEY[key], source) for key, source in found.items()})
    _check_pair(config)
    check_one_grammar({key: getattr(config, key) for key in GRAMMAR_KEYS})
    return config


def _read(setting: Setting, source: _Source) -> Any:
    value = source.values[setting.key]
    value = _FORMER.get(setting.key, {}).get(str(value).strip().lower(), value)
    try:
        read = setting.kind.read(value)
    except BadValue as error:
        raise ConfigError(error.about(source.name(setting), value)) from None
    return None if setting.key == "seed" and read == -1 else read


def read_table(name: str) -> Mapping[str, object]:
    """A table of config.toml that is not a setting; empty if it is not there. Raises ConfigError."""
    table = _contents().get(name, {})
    if not isinstance(table, dict):
        raise ConfigError(f"{config_file()}: {name} is {table!r}: use tables such as [{name}.NAME]")
    return table


def _contents() -> dict[str, object]:
    """Everything in config.toml. Raises ConfigError."""
    file = config_file()
    with reading_toml(file):
        try:
            return tomllib.loads(bounded_text(file, CONFIG_BYTES))
        except FileNotFoundError:
            return {}


def _file() -> _Source:
    """What config.toml holds; a relative path in it starts from its folder. Raises ConfigError."""
    file, values = config_file(), _contents()
    for key in {*TABLES, *_FORMER} - BY_KEY.keys():
        values.pop(key, None)
    for key in values:
        if key not in BY_KEY:
            close = difflib.get_close_matches(key, BY_KEY, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(BY_KEY)}"
            raise ConfigError(f"{file}: there is no setting {key}: {hint}")
        kind, value = BY_KEY[key].kind, values[key]
        if isinstance(kind, File) and isinstance(value, str):
            values[key] = kind.beside(file.parent, value)
    return _Source(values, lambda setting: f"{file}: {setting.key}")


def _variables() -> _Source:
    """What the environment holds; an empty variable counts as not set, and case does not matter."""
    given = {name.upper(): text for name, text in os.environ.items() if text}
    values = {each.key: given[each.variable] for each in SETTINGS if each.variable in given}
    return _Source(values, lambda setting: setting.variable)


def _check_pair(config: Config) -> None:
    if config.draft is not None and config.model is None:
        raise ConfigError(f"the draft model {config.draft} has no target: give one with -m, or omit -d")
    if config.drafter == "model" and config.model is not None and config.draft is None:
        raise ConfigError("the drafter is 'model', but there is no draft model: give one with -d, or use lookup")
