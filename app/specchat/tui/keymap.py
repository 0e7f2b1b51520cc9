"""The keys that the user configured: from `[keys]` in the configuration to a keymap for Textual."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

from textual.binding import Binding, BindingType, Keymap
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, key_to_character

from specchat.errors import ConfigError

_MODIFIERS = frozenset({"ctrl", "alt", "shift", "super", "hyper", "meta"})
_NAMES = frozenset({*(key.value.rpartition("+")[2] for key in Keys), *KEY_NAME_REPLACEMENTS.values()})
_TOGETHER = frozenset({"app", "chat", "prompt"})
"""The scopes whose keys work together while the user writes. The other scopes have the keyboard for themselves."""


def known_bindings(*holders: type) -> dict[str, str]:
    """The keys of all bindings with an id in these classes and their bases, by id, separated by commas."""
    keymap: dict[str, str] = {}
    for kind in dict.fromkeys(base for holder in holders for base in holder.__mro__):
        own: list[BindingType] = vars(kind).get("BINDINGS", [])
        for binding in own:
            if isinstance(binding, Binding) and binding.id is not None:
                keymap[binding.id] = ",".join(dict.fromkeys(_split(f"{keymap.get(binding.id, '')},{binding.key}")))
    return keymap


def read_keymap(keys: Mapping[str, str], known: Mapping[str, str]) -> Keymap:
    """The keymap of the user's keys; `known` are the default keys by the ids of their bindings.

    The part before the dot of an id is its scope: `chat.knobs`. Raises ConfigError, in one line, for an unknown id or
    key, and for a key that would do two things in one scope.
    """
    for name, text in keys.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known)}"
            raise ConfigError(f"keys has {name!r}: {hint}")
        if not _split(text):
            raise ConfigError(f"keys.{name} is {text!r}: use a key, such as f4 or ctrl+k")
        for key in _split(text):
            _check_key(name, key)
    _check_clashes(keys, known)
    # If several bindings share a key and one of them gets another, Textual takes the key from all: name the others too.
    beside = {
        other: usual
        for other, usual in known.items()
        if any(_scope(name) == _scope(other) and _shared(name, other, known) for name in keys)
    }
    return {name: ",".join(_split(text)) for name, text in (beside | dict(keys)).items()}


def written_key(key: str) -> str:
    """A key as users read it: Ctrl+T."""
    return "+".join(part.capitalize() for part in key.strip().split("+"))


def _check_key(name: str, key: str) -> None:
    *modifiers, last = key.split("+")
    character = last if len(last) == 1 else key_to_character(last)
    if not (_MODIFIERS.issuperset(modifiers) and (character is not None or last in _NAMES)):
        raise ConfigError(f"keys.{name} is {key!r}: there is no such key; use one such as f4, ctrl+k or alt+up")
    types_text = character is not None and character.isprintable() and {"shift"}.issuperset(modifiers)
    if types_text and _scope(name) in _TOGETHER:
        raise ConfigError(f"keys.{name} is {key!r}: that key types a character; put ctrl+ or alt+ before it")


def _check_clashes(keys: Mapping[str, str], known: Mapping[str, str]) -> None:
    for name, text in keys.items():
        for key in _split(text):
            for other, key_of_other in _others(name, keys, known):
                if key == key_of_other and not _shared(name, other, known):
                    remedy = "give one of them another" if other in keys else f"give {other} another key too"
                    raise ConfigError(f"keys.{name} is {key!r}: that is the key of {other}; {remedy}")


def _others(name: str, keys: Mapping[str, str], known: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for other, usual in known.items():
        scopes = {_scope(name), _scope(other)}
        if other != name and (len(scopes) == 1 or scopes <= _TOGETHER or "app" in scopes):
            for key in _split(keys.get(other, usual)):
                yield other, key


def _shared(name: str, other: str, known: Mapping[str, str]) -> bool:
    """Whether two bindings share a default key: then they never work at the same time."""
    return bool({*_split(known[name])} & {*_split(known[other])})


def _scope(name: str) -> str:
    return name.partition(".")[0]


def _split(text: str) -> list[str]:
    return [key for part in text.split(",") if (key := part.strip())]
