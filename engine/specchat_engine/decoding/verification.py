"""What all verifiers share: their input, their verdict, the proposals that they can judge, and their randomness.

A verifier sees the drafted ids and, lazily, the target's candidates of each row: it asks for row i + 1 only when
token i was accepted, so that a rejected draft costs no work on the rows after it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.errors import SettingError
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import stream_seed, uniform
from specchat_engine.sampling.sampler import Sampler

ProposalLaw = Literal["point", "drawn", "either", "unknown"]
"""The law of a drafter's proposals, given the tokens before.

"point": a function of those tokens, so that q is a point mass. "drawn": each token is drawn from the row of q that
comes with it, by the sampler in the context. "either": one or the other in each draft. "unknown": neither is promised.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one verification.

    The first `accepted` drafted tokens stand. `judged` has the target's candidates that drafted tokens were compared
    with, the rejected one's included. `token` is the target's own token after the accepted ones (None for kind NONE),
    and `row` the target's candidates at its place. `path` has the indexes of the accepted tokens of a tree, and
    `judged` then has one row for each place that tokens were compared at.
    """

    accepted: int
    token: int | None
    kind: TokenKind
    judged: tuple[Candidates, ...]
    row: Candidates
    path: tuple[int, ...] = ()

    @property
    def nodes(self) -> Sequence[int]:
        """The indexes of the accepted tokens in the draft, in the order of the text."""
        return self.path or range(self.accepted)

    @property
    def places(self) -> list[int]:
        """The rows of the pass that the emitted tokens were drawn from: after the context and after each accepted
        token."""
        return [0, *(node + 1 for node in self.nodes)]

    def emitted(self, drafted: Sequence[int]) -> list[int]:
        """The accepted ones of the drafted tokens and, if there is one, the target's own."""
        own = [] if self.token is None else [self.token]
        return [*(drafted[node] for node in self.nodes), *own]

    @property
    def compared(self) -> int:
        """At how many places drafted tokens were compared: those of the accepted ones and of the rejected one."""
        return len(self.judged)


Rows = Callable[[int], Candidates]
"""Gives the target's candidates after the first i drafted tokens, for i = 0 … k; in a tree, after token i - 1 and those
that it follows."""


class Chance(Protocol):
    """The randomness of one verification. Indexes count from the first drafted token."""

    def accepts(self, index: int, probability: float) -> bool:
        """True with this probability, independently of every other answer."""

    def draw(self, index: int, row: Candidates) -> int:
        """A token distributed as the row."""


Decide = Callable[[Sequence[int], Rows, Sequence[Candidates], Chance], Verdict]
"""Judges drafted tokens by the target's rows and, if the rule needs them, the drafter's rows of q."""

Walk = Callable[[Sequence[int], Sequence[int], Rows, Chance], Verdict]
"""Judges a tree: drafted tokens and their parents."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """One rule that decides which drafted tokens stand.

    `couples`: the rule needs drafter and target to draw with the same noise; otherwise they must not. `weighs_q`: the
    rule compares p with q, so it needs the distribution that the proposals were drawn from. `walk` judges trees, if the
    rule can.
    """

    name: str
    decide: Decide
    lossless: bool
    couples: bool
    weighs_q: bool
    walk: Walk | None = None

    def check(self, drafter: str, law: ProposalLaw) -> None:
        """Raises SettingError if this rule cannot keep its promise with such a drafter."""
        if self.weighs_q and law == "unknown":
            raise SettingError(
                f"the verifier {self.name!r} cannot be lossless with the drafter {drafter!r}, which does not say what "
                "its proposals are drawn from: use the verifier 'coupled'"
            )


PROPOSALS, TESTS, DRAWS = 1, 2, 3
"""The streams of a round under a rule that does not couple: the drafter's draws, the tests, the target's draws."""


class SharedChance:
    """The turn's own noise, by output position: what the target draws does not depend on any draft."""

    __slots__ = ("_position", "_sampler")

    def __init__(self, sampler: Sampler, position: int) -> None:
        self._sampler = sampler
        self._position = position

    def accepts(self, index: int, probability: float) -> bool:
        """True with this probability, by the noise of this position. Coupled rules do not need it."""
        return uniform(self._sampler.seed, self._position + index) < probability

    def draw(self, index: int, row: Candidates) -> int:
        """The target's token at this index."""
        return self._sampler.draw(row, self._position + index)


class RoundChance:
    """Noise for one round alone, independent of its proposals."""

    __slots__ = ("_draws", "_tests")

    def __init__(self, sampler: Sampler, position: int) -> None:
        self._tests = stream_seed(sampler.seed, TESTS, position)
        self._draws = sampler.reseeded(stream_seed(sampler.seed, DRAWS, position))

    def accepts(self, index: int, probability: float) -> bool:
        """True with this probability."""
        return uniform(self._tests, index) < probability

    def draw(self, index: int, row: Candidates) -> int:
        """A token distributed as the row."""
        return self._draws.draw(row, index)


def proposer(sampler: Sampler, position: int) -> Sampler:
    """The sampler of a drafter under a rule that does not couple: the target's parameters with independent noise."""
    return sampler.reseeded(stream_seed(sampler.seed, PROPOSALS, position))
