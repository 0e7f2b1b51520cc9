"""Which places of a chain get a runner-up as well, so that the target chooses between several continuations.

A runner-up adds one token if all before it is accepted and the target takes it in place of the chain's own token. How
often that happens is learned by the class of the chain's confidence there. It is worth its time if its chance is more
than what the wider pass costs, in tokens at the present pace.

Sources: Chen et al., "Sequoia", arXiv 2402.12374 (measured ranks); Li et al., "EAGLE-2", arXiv 2406.16858 and Wang et
al., "OPT-Tree", arXiv 2406.17276 (shapes by confidence).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat_engine.decoding.drafts import Draft

_TYPICAL = 0.8
"""The acceptance of a token about which its drafter says nothing."""


@dataclass(frozen=True, slots=True)
class Branching:
    """Chooses the places of a chain.

    `p_accept` and `p_runner_up` are the shares of tokens that are accepted, and of those whose runner-up is right
    instead, by class of confidence. `costs[w]` is the milliseconds of a pass over w tokens, `pace` the speed to beat in
    tokens per millisecond. At most `most` places are chosen, exactly so many if possible where they are `fixed`.
    """

    most: int
    fixed: bool = False
    p_accept: Sequence[float] = ()
    p_runner_up: Sequence[float] = ()
    classify: Callable[[float], int] = int
    costs: Sequence[float] = ()
    pace: float = 0.0

    def __call__(self, draft: Draft) -> list[int]:
        """The places that get their runner-up, ascending."""
        chances = self._chances(draft)
        order = sorted(range(len(chances)), key=lambda place: -chances[place])
        if self.fixed:
            return sorted(order[: self.most])
        chosen: list[int] = []
        for place in order[: self.most]:
            width = len(draft) + 1 + len(chosen)
            if width + 1 >= len(self.costs):
                break
            if chances[place] <= self.pace * (self.costs[width + 1] - self.costs[width]):
                break
            chosen.append(place)
        return sorted(chosen)

    def may_pay(self, width: int) -> bool:
        """Whether the best runner-up of a chain could be worth a pass that is one token wider than this."""
        wider = min(width + 1, len(self.costs) - 1)
        return self.fixed or max(self.p_runner_up) > self.pace * (self.costs[wider] - self.costs[wider - 1])

    def _chances(self, draft: Draft) -> list[float]:
        """How likely each place's runner-up is the target's token, with all before it accepted."""
        reach, chances = 1.0, []
        for place in range(len(draft.runners_up)):
            accepted, instead = _TYPICAL, 1 - _TYPICAL
            if self.p_accept and place < len(draft.confidence):
                kind = self.classify(draft.confidence[place])
                accepted, instead = self.p_accept[kind], self.p_runner_up[kind]
            chances.append(reach * instead)
            reach *= accepted
        return chances
