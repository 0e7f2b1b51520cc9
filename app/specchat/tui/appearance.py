"""The theme and the keys as the user configured them, checked before the app opens."""

from __future__ import annotations

import difflib
import importlib
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


@dataclass(frozen=True, slots=True)
class Appearance:
    """A theme's name, the keys that are not the usual ones, and whether the configuration names the theme."""

    theme: str = DARK_NAME
    keymap: Keymap = field(default_factory=dict)
    configured: bool = False


def read_appearance(
    theme: str | None,
    keys: Mapping[str, str],
    *,
    configured: str | None = None,
    chosen: str | None = None,
    light: bool = False,
) -> Appearance:
    """What is asked for now, else configured, else was chosen in the app before, else fits the terminal's ground.

    Raises ConfigError, in one line, for a theme or a key that there is not. One that was chosen may be gone.
    """
    names = (DARK_NAME, LIGHT_NAME, *BUILTIN_THEMES)
    wanted = theme or configured
    if wanted is not None and wanted not in names:
        close = difflib.get_close_matches(wanted, names, 1)
        hint = f"did you mean {close[0]}?" if close else f"use {', '.join(names)}"
        raise ConfigError(f"theme is {wanted!r}: {hint}")
    usual = LIGHT_NAME if light else DARK_NAME
    return Appearance(
        wanted or (chosen if chosen in names else usual),
        read_keymap(keys, all_bindings()) if keys else {},
        configured=configured is not None,
    )


def all_bindings() -> dict[str, str]:
    """The keys of every binding of the app that has an id. It imports every screen, which takes a moment."""
    return known_bindings(*dict.fromkeys(_holders()))


def _holders() -> Iterator[type]:
    """The app, and all screens and widgets of this package."""
    package = __name__.rpartition(".")[0]
    for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
        for found in vars(importlib.import_module(module.name)).values():
            ours = isinstance(found, type) and found.__module__.startswith(package)
            if ours and issubclass(found, (App, DOMNode)):
                yield found
