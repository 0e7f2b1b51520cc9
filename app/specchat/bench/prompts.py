"""The prompts of a benchmark, by kind of text: those that ship with specchat, or the user's own."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path

from specchat.errors import ConfigError
from specchat_assets.benchmark import benchmark_prompts

Prompts = Mapping[str, tuple[str, ...]]


def read_prompts(file: Path | None) -> Prompts:
    """Kind of text to its prompts; without a file the built-in ones.

    A file whose name ends in .toml has a table for each kind with a list `prompts`; any other has one prompt a line,
    and its name is their kind. Raises ConfigError for a file that cannot be read or holds nothing of the sort.
    """
    if file is None:
        return benchmark_prompts()
    try:
        text = file.read_text("utf-8")
    except UnicodeDecodeError:
        raise ConfigError(f"{file} is not UTF-8: save it as UTF-8") from None
    except OSError as error:
        raise ConfigError(f"the prompts {file} cannot be read: {error.strerror or error}") from None
    prompts = _from_toml(text, file) if file.suffix == ".toml" else {file.stem: _stripped(text.splitlines())}
    if not prompts or not all(prompts.values()):
        raise ConfigError(f"{file} holds no prompts: write one a line, or in a .toml [kind] with prompts = [...]")
    return prompts


def _from_toml(text: str, file: Path) -> dict[str, tuple[str, ...]]:
    try:
        kinds = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not valid TOML: {error}") from None
    prompts = {}
    for kind, section in kinds.items():
        given = section.get("prompts") if isinstance(section, dict) else None
        if not isinstance(given, list) or not all(isinstance(prompt, str) for prompt in given):
            raise ConfigError(f"{file}: {kind} has no list of prompts: write [{kind}] and below it prompts = [...]")
        prompts[kind] = _stripped(given)
    return prompts


def _stripped(texts: list[str]) -> tuple[str, ...]:
    """Each text once: the same question twice could not be told apart afterwards."""
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
