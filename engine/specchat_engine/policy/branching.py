"""Which places of a chain get a runner-up as well, so that the target chooses between several continuations.

A runner-up adds one token if all before it is accepted and the target takes it in place of the chain's own token. How
often that happens is learned by the class of the chain's confidence there, or of the runner-up's share if the drafter
counts. It is worth its time if its chance is more than what the wider pass costs, in tokens at the present pace.

Sources: Chen et al., "Sequoia", arXiv 2402.12374 (measured ranks); Li et al., "EAGLE-2", arXiv 2406.16858 and Wang et
al., "OPT-Tree", arXiv 2406.17276 (shapes by confidence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from specchat_engine.decoding.drafts import Draft
from specchat_engine.policy.acceptance import Shares

_TYPICAL = 0.8
"""The acceptance of a token about which its drafter says nothing."""


@dataclass(frozen=True, slots=True)
class Branching:
    """Chooses the places of a chain.

    `own` has the shares of the drafter's tokens that are accepted, by their confidence, or by the length of a match if
    the draft continues one of `match` tokens; `instead` those of its runners-up that are right. `costs[w]` is the
    milliseconds of a pass over w tokens, up to the widest one, and `pace` the speed to beat in tokens per millisecond.
    At most `most` places are chosen. Where they are `fixed`, that many are chosen if they fit, and costs do not matter.
    """

    most: int
    fixed: bool = False
    own: Shares | None = None
    instead: Shares | None = None
    match: int = 0
    costs: Sequence[float] = ()
    pace: float = 0.0

    def __call__(self, draft: Draft) -> list[int]:
        """The places that get their runner-up, ascending."""
        chances = self._chances(draft)
        fitting = min(self.most, len(self.costs) - 2 - len(draft)) if self.costs else self.most
        order = sorted(chances, key=lambda place: -chances[place])[: max(0, fitting)]
        if self.fixed:
            return sorted(order)
        chosen: list[int] = []
        for place in order:
            width = len(draft) + 1 + len(chosen)
            if chances[place] <= self.pace * (self.costs[width + 1] - self.costs[width]):
                break
            chosen.append(place)
        return sorted(chosen)

    def may_pay(self, width: int) -> bool:
        """Whether the best runner-up of a chain could be worth a pass that is one token wider than this."""
        wider = min(width + 1, len(self.costs) - 1)
        best = max(self.instead.p_accept()) if self.instead else 1 - _TYPICAL
        return self.fixed or best > self.pace * (self.costs[wider] - self.costs[wider - 1])

    def _chances(self, draft: Draft) -> dict[int, float]:
        """How likely each place's runner-up is the target's token, with all before it accepted."""
        own = range(self.match, self.match + len(draft)) if self.match else draft.confidence
        instead = draft.runner_up_evidence
        reach, chances = 1.0, {}
        for place, runner_up in enumerate(draft.runners_up):
            accepted, replaced = _TYPICAL, 1 - _TYPICAL
            if self.own and self.instead and place < min(len(own), len(instead)):
                accepted, replaced = self.own.p_of(own[place]), self.instead.p_of(instead[place])
            if runner_up is not None:
                chances[place] = reach * replaced
            reach *= accepted
        return chances
