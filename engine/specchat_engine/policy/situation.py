"""What a round can be made of, the decision, and the outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specchat_engine.decoding.drafts import DrafterTraits, Prospect
from specchat_engine.models import ALONE, Company
from specchat_engine.policy.branching import Branching
from specchat_engine.policy.early_stop import EarlyStop


@dataclass(frozen=True, slots=True)
class Situation:
    """What the next round can be made of: the drafters that may draft, and what each could do.

    `depth` is the length of the context, `longest` the largest number of drafted tokens. With `fixed` a draft of
    `longest` tokens is made, and only its drafter is chosen. `opening` is True in the first tokens of an answer.
    `after_pause` is True if the models were idle, so that the times of this round say nothing about other rounds. A
    draft may have `tree` tokens beside its chain, and has exactly so many if possible where that is `tree_fixed`. With
    `voting` drafters that continue a match may add to the drafts of others. `company` are the other answers that shared
    the last pass.
    """

    depth: int
    longest: int
    prospects: Mapping[DrafterTraits, Prospect]
    fixed: bool = False
    opening: bool = False
    after_pause: bool = False
    tree: int = 0
    tree_fixed: bool = False
    voting: bool = False
    company: Company = ALONE


@dataclass(frozen=True, slots=True)
class Decision:
    """Who drafts, how many tokens at most, and why. Without a drafter the round is plain. `stop` ends drafts early.

    `expected` is the speed of the best draft that was considered, in times that of plain decoding; None if none was.
    A `trial` promises no gain. It is made to learn how good the drafts are. `branches` makes a tree of the draft.
    `costs` are the milliseconds of target passes by width and `pace` is the speed to beat, for those who vote.
    """

    drafter: DrafterTraits | None
    k: int
    reason: str
    stop: EarlyStop | None = None
    expected: float | None = None
    trial: bool = False
    branches: Branching | None = None
    costs: Sequence[float] = ()
    pace: float = 0.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a round: how many tokens were drafted, compared, accepted and emitted, and the milliseconds.

    Of a tree, `drafted`, `compared` and `accepted` are about its chain, and `branches` are the tokens beside it.
    `runners_up` has the evidence for each runner-up of a compared token, and whether it was right instead.
    `borrowed` are the tokens that another drafter added to the chain: those with the given lengths of their match were
    compared, and so many of them accepted.

    `matched` says for each drafter with a match which of the tokens after it were right, as far as the round shows.
    Whoever drafted does not matter. `company` are the other answers that shared the pass.
    """

    drafted: int
    accepted: int
    compared: int
    emitted: int
    verify_ms: float
    draft_ms: float
    other_ms: float
    confidence: Sequence[float] = ()
    branches: int = 0
    runners_up: Sequence[tuple[float, bool]] = ()
    borrowed: tuple[Sequence[int], int] = ((), 0)
    matched: Mapping[DrafterTraits, Sequence[bool]] = field(default_factory=dict)
    company: Company = ALONE

    @property
    def milliseconds(self) -> float:
        """The time of the whole round."""
        return self.verify_ms + self.draft_ms + self.other_ms
