"""The questions for every runner, their answers, and how configurations are compared."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from specchat.bench.samples import Estimate
from specchat.bench.summary import geometric_mean, paired_ratios
from specchat_engine import Message


@dataclass(frozen=True, slots=True)
class Task:
    """A prompt in token ids. The answer goes on to its end, at most `max_tokens`.

    `messages` are the same prompt for a runner that applies the chat template itself: earlier turns of about `earlier`
    tokens, and a question.
    """

    kind: str
    number: int
    earlier: int
    messages: tuple[Message, ...]
    ids: tuple[int, ...]
    temperature: float
    seed: int
    max_tokens: int


@dataclass(frozen=True, slots=True)
class Result:
    """An answer: its tokens, and the milliseconds from the prompt to the last of them."""

    tokens: int
    milliseconds: float

    @property
    def speed(self) -> float:
        """Tokens per second, including the time for the prompt."""
        return self.tokens / self.milliseconds * 1000


class Runner(Protocol):
    """One tool in one configuration. `peer` names the tool, `name` the configuration."""

    peer: str
    name: str

    def answer(self, task: Task) -> Result:
        """Answers with empty caches."""

    def close(self) -> None:
        """Frees all resources."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A configuration's speed relative to the base, by kind and over all kinds. `speeds` are its medians."""

    peer: str
    name: str
    speeds: Mapping[str, float]
    kinds: Mapping[str, float]
    over_all: Estimate | None


Measured = Mapping[tuple[str, str], Mapping[Task, Result]]
"""Keyed by tool and configuration."""


def standings(
    measured: Measured, base: tuple[str, str], temperature: float, earlier: int | None = None
) -> list[Standing]:
    """All configurations relative to one of them at a temperature, in the order in which they were measured.

    With `earlier` only prompts after earlier turns of that length count.
    """
    found = []
    for (peer, name), results in measured.items():
        by_kind: dict[str, dict[Task, float]] = defaultdict(dict)
        for task, result in results.items():
            if task.temperature == temperature and result.tokens and earlier in (None, task.earlier):
                by_kind[task.kind][task] = result.speed
        reference = {task: result.speed for task, result in measured[base].items() if result.tokens}
        ratios = {kind: paired_ratios(speeds, reference) for kind, speeds in by_kind.items()}
        found.append(
            Standing(
                peer,
                name,
                {kind: float(np.median([*speeds.values()])) for kind, speeds in by_kind.items()},
                {kind: float(np.median(each)) if len(each) else math.nan for kind, each in ratios.items()},
                geometric_mean([*ratios.values()]),
            )
        )
    return found


def best_of(standings_of_all: Sequence[Standing], peer: str) -> Standing:
    """The single configuration of a tool that is fastest over all kinds."""
    own = [standing for standing in standings_of_all if standing.peer == peer and standing.over_all]
    return max(own, key=lambda standing: standing.over_all.value if standing.over_all else 0.0)
