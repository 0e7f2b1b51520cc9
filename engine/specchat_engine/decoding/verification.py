"""What every verifier shares: what it is given, what it decides, and which proposals it may judge.

A verifier sees the drafted ids and, lazily, the target's candidates of each row: it asks for row i + 1 only when
token i was accepted, so that a rejected draft costs no work on the rows behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.errors import SettingError
from specchat_engine.sampling.candidates import Candidates

ProposalLaw = Literal["point", "drawn", "either", "unknown"]
"""What a drafter's proposals follow, given the tokens before.

"point": a function of those tokens, so that q is a point mass. "drawn": each token is drawn from the row of q that
comes with it, by the sampler that the context hands out. "either": one or the other in each draft. "unknown": nothing
is said.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of one verification.

    The first `accepted` drafted tokens stand; `compared` of them (the rejected one included) were held against the
    target's candidates, which are `judged`. `token` is the target's own token behind the accepted ones (None for kind
    NONE), `row` the target's candidates at its place.
    """

    accepted: int
    token: int | None
    kind: TokenKind
    judged: tuple[Candidates, ...]
    row: Candidates

    @property
    def compared(self) -> int:
        """How many drafted tokens were compared: the accepted ones and the rejected one."""
        return len(self.judged)


Rows = Callable[[int], Candidates]
"""Gives the target's candidates behind the first i drafted tokens, for i = 0 … k."""


class Chance(Protocol):
    """The randomness of one verification. Places count from the first drafted token."""

    def accepts(self, place: int, probability: float) -> bool:
        """True with this probability, independently of every other answer."""

    def draw(self, place: int, row: Candidates) -> int:
        """A token distributed as the row."""


Decide = Callable[[Sequence[int], Rows, Sequence[Candidates], Chance], Verdict]
"""Judges drafted tokens by the target's rows and, where the rule needs them, the drafter's rows of q."""


@dataclass(frozen=True, slots=True)
class Verifier:
    """One rule that decides which drafted tokens stand.

    `couples`: drafter and target draw with the same noise, on which the rule rests; otherwise they must not.
    `weighs_q`: the rule compares p with q, so that it has to know what the proposals were drawn from.
    """

    name: str
    decide: Decide
    lossless: bool
    couples: bool
    weighs_q: bool

    def check(self, drafter: str, law: ProposalLaw) -> None:
        """Raises SettingError where this rule cannot keep its promise with such a drafter."""
        if self.weighs_q and law == "unknown":
            raise SettingError(
                f"the verifier {self.name!r} cannot be lossless with the drafter {drafter!r}, which does not say what "
                "its proposals are drawn from: use the verifier 'coupled'"
            )
