"""What a benchmark measures and in which order: the arms, the prompts, and the turns."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from specchat.errors import ConfigError
from specchat.settings.schema import BY_KEY
from specchat.settings.values import BadValue
from specchat_assets.benchmark import benchmark_prompts
from specchat_engine.errors import SettingError
from specchat_engine.settings import AUTO, DRAFTERS, FURTHER_MODEL, HEADS, USUAL_K, DraftLength, installed_drafters

KS = {
    "model": (2, 4, 8, 16),
    "eagle3": (2, 4, 8),
    **dict.fromkeys(("mtp", "medusa", "mlp"), (1, 2, 4)),
    **dict.fromkeys(("lookup", "store"), (4, 8, 16)),
}
"""The fixed k of each drafter that are measured by default."""

NEED_MODELS = ("model", "hybrid", *HEADS)
"""The drafters that need a draft model or a head."""

Pair = tuple[float, str, int, int]
"""Temperature, kind, prompt and repeat: answers with the same key differ only in the arm."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A drafter and a k to measure. The others are compared with `PLAIN`."""

    drafter: str
    k: DraftLength

    def __str__(self) -> str:
        return "none" if self == PLAIN else f"{self.drafter}:{self.k}"

    @property
    def label(self) -> str:
        """The name of the arm in tables and charts."""
        return "plain" if self == PLAIN else f"{self.drafter} {self.k}"

    @property
    def is_fixed(self) -> bool:
        """True if it drafts with a fixed k."""
        return self != PLAIN and self.k != AUTO

    def to_json(self) -> str:
        """The arm as it stands in documents."""
        return str(self)

    @classmethod
    def from_json(cls, value: Any) -> Self:
        """Reads what `to_json` wrote. Raises ValueError or SettingError for anything else."""
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not an arm")
        return cls.parse(value)

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `none`, `model:4`, `hybrid:auto`. Raises SettingError for anything else."""
        if text == "none":
            return cls("none", 0)
        drafter, _, k = text.partition(":")
        known = drafter in DRAFTERS or drafter.startswith(FURTHER_MODEL) or drafter in installed_drafters()
        if not known or drafter == "none" or not (k == AUTO or k.isdecimal()):
            raise SettingError(
                f"the arm {text!r} is not one: use none, or a drafter and a k such as model:4, lookup:8, hybrid:auto"
            )
        try:
            arm = cls(drafter, BY_KEY["k"].kind.read(k))
        except BadValue as error:
            raise SettingError(error.about(f"k in the arm {text!r}", k)) from None
        if arm.k == 0:
            raise SettingError(f"the arm {text!r} drafts nothing: use none, which is plain decoding")
        return arm


PLAIN = Arm("none", 0)

DRAFTED = Arm("model", USUAL_K)
"""A fixed k, since an adaptive one would not use an expensive draft, and so would not measure it."""


@dataclass(frozen=True, slots=True)
class BenchTurn:
    """One answer to measure. `prompt` counts within its kind; `text` is the prompt itself."""

    arm: Arm
    temperature: float
    kind: str
    prompt: int
    repeat: int
    text: str


def parse_arms(text: str) -> tuple[Arm, ...]:
    """The arms in a comma-separated list, each once. Plain decoding always comes first.

    Raises SettingError for an unknown arm.
    """
    return tuple(dict.fromkeys((PLAIN, *(Arm.parse(part.strip()) for part in text.split(",") if part.strip()))))


def check_arms(arms: Sequence[Arm], drafters: Sequence[str]) -> None:
    """Raises SettingError for an arm whose drafter is none of the loaded `drafters`."""
    for arm in arms:
        if arm.drafter not in drafters:
            what = "a head of the target" if arm.drafter in HEADS else "a draft model"
            raise SettingError(f"the arm {arm} needs {what}: name one with -d, or leave the arm out")


def default_arms(drafters: Sequence[str]) -> tuple[Arm, ...]:
    """Plain decoding, each of these drafters with its default k, and specchat's own adaptive choice."""
    fixed = [Arm(drafter, k) for drafter, ks in KS.items() if drafter in drafters for k in ks]
    return (PLAIN, *fixed, Arm("hybrid", AUTO))


def turns(
    arms: Sequence[Arm],
    prompts: Mapping[str, Sequence[str]],
    temperatures: Sequence[float],
    repeats: int,
    seed: int,
) -> Iterator[BenchTurn]:
    """Every arm on every prompt, with all kinds and temperatures early, so that a shorter run has some of each.

    The arms of one prompt follow each other directly. Their order is shuffled, rotated from prompt to prompt until each
    arm has been at each place, then shuffled again. So neither the order nor a drifting machine favours an arm.
    """
    order = _orders(arms, random.Random(seed))
    longest = max((len(texts) for texts in prompts.values()), default=0)
    for repeat in range(repeats):
        for prompt in range(longest):
            for kind, texts in prompts.items():
                if prompt < len(texts):
                    for temperature in temperatures:
                        for arm in next(order):
                            yield BenchTurn(arm, temperature, kind, prompt, repeat, texts[prompt])


def _orders(arms: Sequence[Arm], chance: random.Random) -> Iterator[list[Arm]]:
    while True:
        shuffled = chance.sample(arms, len(arms))
        for first in range(len(arms)):
            yield [*shuffled[first:], *shuffled[:first]]


Prompts = Mapping[str, tuple[str, ...]]


def read_prompts(file: Path | None) -> Prompts:
    """The prompts of each kind of text; the built-in ones without a file.

    A .toml file has a table for each kind with a list `prompts`. Any other file has one prompt per line, and its name
    is their kind. Raises ConfigError if the file cannot be read or contains no prompts.
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
        raise ConfigError(f"{file} contains no prompts: write one per line, or [kind] with prompts = [...] in TOML")
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
    """Each text once, since equal prompts could not be distinguished in the results."""
    return tuple(dict.fromkeys(text.strip() for text in texts if text.strip()))
