"""Which alternatives of a draft are verified beside its chain, so that the target chooses between continuations.

A token of a tree adds one token if the target takes it and all before it. How often it does is learned by its evidence:
for tokens of the chain and for what continues a runner-up as for any draft, for runners-up by the class of the chain's
confidence there, or of their own share if the drafter counts. The likeliest tokens are taken as long as they are worth
the wider pass, in tokens at the present pace. No token is likelier than the one it follows, so they are a tree.

Sources: Chen et al., "Sequoia", arXiv 2402.12374 (measured ranks); Li et al., "EAGLE-2", arXiv 2406.16858 and Wang et
al., "OPT-Tree", arXiv 2406.17276 (shapes by confidence).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from specchat_engine.decoding.drafts import Alternative, Draft
from specchat_engine.policy.acceptance import Posterior

_TYPICAL = 0.8
"""The acceptance of a token about which its drafter says nothing."""


@dataclass(frozen=True, slots=True)
class Branching:
    """Chooses among the alternatives of a draft.

    `own` has the shares of the drafter's tokens that are accepted, by their confidence, or by the length of a match if
    the draft continues one of `match` tokens; `instead` those of its runners-up that are right. `pass_ms[w]` is the
    milliseconds of a pass over w tokens, up to the widest one, and `pace` the speed to beat in tokens per millisecond.
    At most `most` alternatives are chosen. Where they are `fixed`, that many are chosen if they fit, and costs do not
    matter. What continues a match cost nothing, so its chain may lose its end to likelier tokens. A draft model's pass
    over one token takes `step_ms`, and a wider one as much more as the target's does.
    """

    most: int
    fixed: bool = False
    own: Posterior | None = None
    instead: Posterior | None = None
    match: int = 0
    pass_ms: Sequence[float] = ()
    pace: float = 0.0
    step_ms: float = 0.0

    def __call__(self, draft: Draft) -> Draft:
        """The draft with the alternatives that were chosen."""
        chances = self._chances(draft)
        others = {alternative.path: alternative for alternative in draft.alternatives}
        chain = [] if self.fixed or not self.match else [draft.tokens[:end] for end in range(1, len(draft) + 1)]
        given = 0 if chain else len(draft)
        likeliest = sorted(others, key=lambda path: -chances[path])[: self.most]
        order = sorted([*chain, *likeliest], key=lambda path: -chances[path])
        if self.pass_ms:
            order = order[: max(0, len(self.pass_ms) - 2 - given)]
        if not self.fixed:
            gained = [0.0, *accumulate(chances[path] for path in order)]
            order = order[: max(range(len(gained)), key=lambda n: gained[n] - self.pace * self.pass_ms[given + 1 + n])]
        chosen = [others[path] for path in order if path in others]
        return draft.branched(chosen, max(1, len(order) - len(chosen)) if chain else None)

    def next_read(self, draft: Draft, ends: Sequence[Alternative]) -> Alternative | None:
        """Which of these alternatives the draft model should read beside the last token of the chain, to draft what
        follows it; None if that is not worth the wider passes of both models."""
        if not ends:
            return None
        chances = self._chances(draft)
        best = max(ends, key=lambda alternative: chances[alternative.path])
        if self.fixed:
            return best
        ms = self.pass_ms
        width = min(len(draft) + 2, len(ms) - 2)
        wider_ms = ms[width + 1] - ms[width] + self.step_ms * (ms[2] / ms[1] - 1)
        return best if chances[best.path] * _TYPICAL > self.pace * wider_ms else None

    def may_pay(self, width: int) -> bool:
        """Whether the best runner-up of a chain could be worth a pass that is one token wider than this."""
        wider = min(width + 1, len(self.pass_ms) - 1)
        best = max(self.instead.p_accept()) if self.instead else 1 - _TYPICAL
        return self.fixed or best > self.pace * (self.pass_ms[wider] - self.pass_ms[wider - 1])

    def _chances(self, draft: Draft) -> dict[tuple[int, ...], float]:
        """How likely the target takes each token of the chain, and each alternative, with all before it."""
        evidence = range(self.match, self.match + len(draft)) if self.match else draft.confidence
        accepted = [self.own.p_of(strength) for strength in evidence] if self.own else []
        accepted += [_TYPICAL] * (len(draft) - len(accepted))
        chances: dict[tuple[int, ...], float] = {(): 1.0}
        for index, p_accept in enumerate(accepted):
            chances[draft.tokens[: index + 1]] = chances[draft.tokens[:index]] * p_accept
        for alternative in draft.alternatives:
            shares, usual = (self.instead, 1 - _TYPICAL) if alternative.runner_up else (self.own, _TYPICAL)
            before, beside = alternative.path[:-1], draft.tokens[: len(alternative.path)]
            chances[alternative.path] = chances[before] * (shares.p_of(alternative.evidence) if shares else usual)
            if self.match and beside[:-1] == before:  # the chain goes on where something stands beside it
                chances[alternative.path] = min(chances[alternative.path], chances[beside])
        return chances
