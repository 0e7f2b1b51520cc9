"""What a benchmark measures and in which order: arms that take turns on every prompt."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from specchat_engine.errors import SettingError
from specchat_engine.settings import AUTO, DRAFTERS, USUAL_K, DraftLength, Settings

KS = {"model": (2, 4, 8, 16), "lookup": (4, 8, 16)}
"""The fixed k of each drafter that are measured where the user names no arms."""

NEED_A_DRAFT_MODEL = ("model", "hybrid")

Pair = tuple[float, str, int, int]
"""Temperature, kind, prompt and repeat: answers that agree in these differ in the arm alone."""


@dataclass(frozen=True, slots=True)
class Arm:
    """A drafter and a k that is measured; `PLAIN` is the one that the others are compared with."""

    drafter: str
    k: DraftLength

    def __str__(self) -> str:
        return "none" if self == PLAIN else f"{self.drafter}:{self.k}"

    @property
    def label(self) -> str:
        """The arm in tables and charts."""
        return "plain" if self == PLAIN else f"{self.drafter} {self.k}"

    @property
    def is_fixed(self) -> bool:
        """Whether it drafts with a k that never changes."""
        return self != PLAIN and self.k != AUTO

    @classmethod
    def parse(cls, text: str) -> Self:
        """Reads `none`, `model:4`, `hybrid:auto`. Raises SettingError for anything else."""
        if text == "none":
            return cls("none", 0)
        drafter, _, k = text.partition(":")
        if drafter not in DRAFTERS or drafter == "none" or not (k == AUTO or k.isdecimal()):
            raise SettingError(
                f"the arm {text!r} is not one: use none, or a drafter and a k such as model:4, lookup:8, hybrid:auto"
            )
        arm = cls(drafter, AUTO if k == AUTO else int(k))
        if arm.k == 0:
            raise SettingError(f"the arm {text!r} drafts nothing: use none, which is plain decoding")
        Settings(k=arm.k, drafter=drafter)
        return arm


PLAIN = Arm("none", 0)

DRAFTED = Arm("model", USUAL_K)
"""A k that never changes: one that adapts would leave a dear draft alone, and so measure nothing of it."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One answer that is to be measured; `prompt` counts within its kind, `text` is what is asked."""

    arm: Arm
    temperature: float
    kind: str
    prompt: int
    repeat: int
    text: str


def parse_arms(text: str, *, has_draft: bool) -> tuple[Arm, ...]:
    """The arms of a list with commas, each once, plain decoding first whether it was named or not.

    Raises SettingError for what is no arm, and for one that needs a draft model where there is none.
    """
    arms = [Arm.parse(part.strip()) for part in text.split(",") if part.strip()]
    for arm in arms:
        if arm.drafter in NEED_A_DRAFT_MODEL and not has_draft:
            raise SettingError(f"the arm {arm} needs a draft model: name one with -d, or leave the arm out")
    return tuple(dict.fromkeys((PLAIN, *arms)))


def default_arms(*, has_draft: bool) -> tuple[Arm, ...]:
    """Plain decoding, each drafter at hand with its usual k, and what specchat would choose by itself."""
    drafters = [drafter for drafter in KS if has_draft or drafter not in NEED_A_DRAFT_MODEL]
    fixed = [Arm(drafter, k) for drafter in drafters for k in KS[drafter]]
    return (PLAIN, *fixed, Arm("hybrid" if has_draft else "lookup", AUTO))


def turns(
    arms: Sequence[Arm],
    prompts: Mapping[str, Sequence[str]],
    temperatures: Sequence[float],
    repeats: int,
    seed: int,
) -> Iterator[Turn]:
    """Every arm on every prompt, all kinds and temperatures early, so that a run that is cut short has some of each.

    The arms of one prompt follow each other directly. Their order is shuffled, then rotated from prompt to prompt until
    each arm has stood at each place, then shuffled anew: neither a drifting machine nor a neighbour decides.
    """
    order = _orders(arms, random.Random(seed))
    longest = max((len(texts) for texts in prompts.values()), default=0)
    for repeat in range(repeats):
        for prompt in range(longest):
            for kind, texts in prompts.items():
                if prompt < len(texts):
                    for temperature in temperatures:
                        for arm in next(order):
                            yield Turn(arm, temperature, kind, prompt, repeat, texts[prompt])


def _orders(arms: Sequence[Arm], chance: random.Random) -> Iterator[list[Arm]]:
    while True:
        shuffled = chance.sample(arms, len(arms))
        for first in range(len(arms)):
            yield [*shuffled[first:], *shuffled[:first]]
