"""Runs a verifier through every outcome of its randomness and compares its exact law with the target's."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from specchat_engine.decoding.verification import Decide
from specchat_engine.sampling.candidates import Candidates

T = TypeVar("T")
Rowed = Callable[[tuple[int, ...]], Candidates]
"""The distribution that follows a sequence of tokens."""

Text = tuple[int, ...]

Stop = Callable[[Text, Candidates], bool]
"""Whether to stop before drawing from this row, after these drafted tokens."""


@dataclass
class Branch:
    """A `Chance` that takes one path through the choices and records the alternatives."""

    way: Sequence[int]
    probability: float = 1.0
    options: list[int] = field(default_factory=list)

    def accepts(self, index: int, probability: float) -> bool:
        """Both answers, unless one has probability 0."""
        return self._choose([(answer, p) for answer, p in ((True, probability), (False, 1 - probability)) if p > 0])

    def draw(self, index: int, row: Candidates) -> int:
        """Every token of the row. If the row's mass is not 1, the last token gets the rest, as when inverting its
        distribution function."""
        p = np.exp(row.log_p)
        p[-1] += 1 - p.sum()
        return self._choose([(token, mass) for token, mass in zip(row.ids.tolist(), p.tolist(), strict=True) if mass])

    def _choose(self, choices: list[tuple[T, float]]) -> T:
        depth = len(self.options)
        self.options.append(len(choices))
        taken, mass = choices[self.way[depth] if depth < len(self.way) else 0]
        self.probability *= mass
        return taken


def branches(run: Callable[[Branch], T]) -> Iterator[tuple[T, float]]:
    """Every outcome of `run` with its probability."""
    ways: list[tuple[int, ...]] = [()]
    while ways:
        way = ways.pop()
        branch = Branch(way)
        outcome = run(branch)
        yield outcome, branch.probability
        for depth in range(len(way), len(branch.options)):
            ways.extend((*way, *[0] * (depth - len(way)), other) for other in range(1, branch.options[depth]))


@dataclass(frozen=True)
class Proposer:
    """A drafter with an exact law: its q, whether it takes the likeliest token instead of drawing, when it stops."""

    q: Rowed
    k: int
    point: bool = False
    stops: Stop = lambda *_: False
    reported: Rowed | None = None
    """The q that it reports, if different from the one it draws from."""

    def draft(self, context: Text, chance: Branch) -> tuple[Text, list[Candidates]]:
        """Tokens and their rows of q."""
        tokens: list[int] = []
        rows: list[Candidates] = []
        while len(tokens) < self.k:
            row = self.q((*context, *tokens))
            if self.stops(tuple(tokens), row):
                break
            token = row.best(1)[0][0] if self.point else chance.draw(len(tokens), row)
            rows.append(
                (self.reported or self.q)((*context, *tokens)) if self.reported or not self.point else sure(token)
            )
            tokens.append(token)
        return tuple(tokens), rows


def sure(token: int) -> Candidates:
    """A point mass."""
    return Candidates.certain(token)


def law_of_rounds(decide: Decide, target: Rowed, proposer: Proposer, length: int, rounds: int = 1) -> Counter[Text]:
    """The joint law of the first `length` tokens: this many verified rounds, then the target's own law."""

    def run(chance: Branch) -> Text:
        text: Text = ()
        for _ in range(rounds):
            if len(text) >= length:
                break
            drafted, rows = proposer.draft(text, chance)
            before = text
            verdict = decide(drafted, lambda place: target((*before, *drafted[:place])), rows, chance)  # noqa: B023
            assert verdict.token is not None
            text = (*text, *drafted[: verdict.accepted], verdict.token)
        return text[:length]

    law: Counter[Text] = Counter()
    for text, probability in branches(run):
        for rest in itertools.product(range(VOCABULARY), repeat=length - len(text)):
            law[(*text, *rest)] += probability * continuation_probability(target, text, rest)
    return law


VOCABULARY = 5
"""The largest vocabulary. Rows of smaller ones give the other tokens probability 0."""


def continuation_probability(target: Rowed, text: Text, rest: Text) -> float:
    """The target's probability of `rest` after `text`."""
    chance = 1.0
    for place, token in enumerate(rest):
        if chance == 0:
            break
        chance *= target((*text, *rest[:place])).probability(token)
    return chance


def error_of_law(decide: Decide, target: Rowed, proposer: Proposer, length: int, rounds: int = 1) -> float:
    """The largest difference between the law of the emitted tokens and the target's own."""
    law = law_of_rounds(decide, target, proposer, length, rounds)
    texts = itertools.product(range(VOCABULARY), repeat=length)
    return max(abs(law[text] - continuation_probability(target, (), text)) for text in texts)


def random_rows(seed: int, n_vocab: int, *, order: int = 3) -> Rowed:
    """Rows of small integer weights that depend on the last tokens. Zeros, ties and point masses are common."""
    made: dict[Text, Candidates] = {}

    def row(tokens: Text) -> Candidates:
        key = tokens[-order:]
        if key not in made:
            random = np.random.default_rng([seed, n_vocab, len(key), *key])
            weights = random.choice([0, 0, 1, 1, 2, 3, 7], size=n_vocab).astype(np.float64)
            if not weights.any():
                weights[random.integers(n_vocab)] = 1
            made[key] = of_weights(weights.tolist())
        return made[key]

    return row


def of_weights(weights: Sequence[float]) -> Candidates:
    """A row in proportion to the weights of the tokens 0, 1, 2 …"""
    total = math.fsum(weights)
    ids = [token for token, weight in enumerate(weights) if weight > 0]
    return Candidates(np.array(ids), np.log([weights[token] / total for token in ids]))
