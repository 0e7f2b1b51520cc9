"""The theme and the keys as the user configured them, checked before the app opens."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from textual.app import App
from textual.binding import Keymap
from textual.dom import DOMNode
from textual.theme import BUILTIN_THEMES

from specchat.errors import ConfigError
from specchat.tui.keymap import known_bindings, read_keymap
from specchat.tui.theme import DARK_NAME, LIGHT_NAME

_LIGHT_GROUNDS = frozenset({"7", "15"})


@dataclass(frozen=True, slots=True)
class Appearance:
    """A theme's name, and the keys that are not the usual ones."""

    theme: str = DARK_NAME
    keymap: Keymap = field(default_factory=dict)


def read_appearance(theme: str | None, keys: Mapping[str, str]) -> Appearance:
    """What the configuration asks for. Raises ConfigError, in one line, for a theme or a key that there is not."""
    names = (DARK_NAME, LIGHT_NAME, *BUILTIN_THEMES)
    if theme is not None and theme not in names:
        close = difflib.get_close_matches(theme, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"use {', '.join(names)}"
        raise ConfigError(f"theme is {theme!r}: {hint}")
    return Appearance(theme or _usual_theme(), read_keymap(keys, all_bindings()) if keys else {})


def all_bindings() -> dict[str, str]:
    """The keys of every binding of the app that has an id. It imports every screen, which takes a moment."""
    return known_bindings(*dict.fromkeys(_holders()))


def _usual_theme() -> str:
    """Dark, unless the terminal says that its ground is light, as those that set COLORFGBG do."""
    return LIGHT_NAME if os.environ.get("COLORFGBG", "").rpartition(";")[2] in _LIGHT_GROUNDS else DARK_NAME


def _holders() -> Iterator[type]:
    """The app, and all screens and widgets of this package."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        for found in vars(importlib.import_module(module.name)).values():
            ours = isinstance(found, type) and found.__module__.startswith(package)
            if ours and issubclass(found, (App, DOMNode)):
                yield found
