"""The decoding loop: draft, verify, rewind, yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import NOTHING, Branches, Context, Draft, Drafter
from specchat_engine.decoding.rounds import LimitedBy, TokenKind
from specchat_engine.decoding.verification import RoundChance, Rows, SharedChance, Verdict, Verifier, proposer
from specchat_engine.errors import SettingError
from specchat_engine.models import BranchingModel, CausalModel
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Plan:
    """How a round is made: who drafts, at most how many tokens and what limits that, which rule verifies them, and why.

    `stop`, if there is one, makes the draft's `Context.worth_more`, which may end the draft before k tokens. `expected`
    is the forecast by which it was planned, in times the speed of plain decoding. `sharpness` is the power of q that
    the draft is drawn from. `branches`, if there is one, makes a tree of the draft.
    """

    drafter: Drafter | None
    k: int
    sampler: Sampler
    reason: str
    verifier: Verifier
    limited_by: LimitedBy = ""
    stop: Callable[[], Callable[[float], bool]] | None = None
    expected: float | None = None
    sharpness: float = 1.0
    branches: Branches | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """One round in token ids: it emitted `num_emitted` tokens. `end` is why the answer ended with it, or None."""

    plan: Plan
    draft: Draft
    verdict: Verdict
    num_emitted: int
    end: str | None

    @property
    def limited_by(self) -> LimitedBy:
        """What kept the draft from being longer."""
        plan, draft = self.plan, self.draft
        if plan.drafter is None:
            return plan.limited_by
        if draft.parents:
            return "tree"
        if len(draft.tokens) >= plan.k:
            return plan.limited_by
        worth_more = plan.stop() if plan.stop else lambda _: True
        return "end" if all(map(worth_more, draft.confidence)) else "confidence"


Limit = Callable[[Sequence[int]], tuple[int, str | None]]
"""Given the tokens that a round would emit: how many to keep, and why the answer ends there (None: it continues)."""


Watch = Callable[[Context, Draft, Verdict, NDArray[np.float32]], None]
"""Sees a pass before the context grows: the draft, the verdict, and the target's logits [n + 1, V], which the next pass
overwrites. Row 0 follows the context, row i + 1 the i-th drafted token."""


def generate(
    target: CausalModel,
    context: Context,
    plan: Callable[[Context], Plan],
    limit: Limit,
    watch: Watch | None = None,
) -> Iterator[Step]:
    """Extends the context round by round until `limit` ends the answer.

    Before and after each round the target's memory holds all tokens of the context but the last, also after an
    exception and when the caller stops iterating. `limit` decides before the memory is cut, so that each round has one
    cut. `watch` sees every pass. Source: Leviathan, Kalman, Matias, arXiv 2211.17192, algorithm 1, with any verifier.

    Raises SettingError if a plan's verifier cannot keep its promise with the plan's drafter.
    """
    end: str | None = None
    while end is None:
        now = plan(context)
        draft = _drafted(now, context)
        try:
            verdict = _verified(target, context, now, draft, watch)
            emitted = verdict.emitted(draft.tokens)
            num_emitted, end = limit(emitted)
            if num_emitted < len(emitted):
                verdict = cut_short(verdict, num_emitted)
            context.tokens += emitted[:num_emitted]
        finally:
            target.rewind(len(context.tokens) - 1)
        if now.drafter:
            now.drafter.observe(context, draft, verdict)
        yield Step(now, draft, verdict, num_emitted, end)


def _drafted(plan: Plan, context: Context) -> Draft:
    """What the plan's drafter proposes; nothing without one."""
    sampler, couples = plan.sampler, plan.verifier.couples
    context.sampler = sampler
    if not plan.drafter or plan.k < 1:
        return NOTHING
    context.worth_more = plan.stop() if plan.stop else None
    context.sharpness = plan.sharpness
    context.proposer = sampler if couples else proposer(sampler, context.position)
    context.branches = plan.branches
    draft = plan.drafter.propose(context, plan.k)
    return plan.branches(draft) if plan.branches and draft.alternatives else draft


def _verified(target: CausalModel, context: Context, plan: Plan, draft: Draft, watch: Watch | None) -> Verdict:
    """One pass over the last token and the draft, judged by the plan's rule."""
    sampler, verifier, position = plan.sampler, plan.verifier, context.position
    if draft.parents:
        return _walked(target, context, plan, draft, watch)
    logits = target.advance((context.tokens[-1], *draft.tokens), len(draft.tokens) + 1)
    chance = SharedChance(sampler, position) if verifier.couples else RoundChance(sampler, position)
    proposals = _proposals(plan, draft) if verifier.weighs_q and draft.tokens else ()
    verdict = verifier.decide(draft.tokens, _rows(context, draft, logits), proposals, chance)
    if watch:
        watch(context, draft, verdict, logits)
    return verdict


def _walked(target: CausalModel, context: Context, plan: Plan, draft: Draft, watch: Watch | None) -> Verdict:
    """The same for a tree, of which the target's memory keeps the accepted path. Raises SettingError for a rule or a
    target that takes chains only."""
    walk = plan.verifier.walk
    if walk is None or not isinstance(target, BranchingModel):
        raise SettingError(f"trees need the verifier 'coupled', not {plan.verifier.name!r}, and a target with branches")
    logits = target.advance_tree(context.tokens[-1], draft.tokens, draft.parents)
    chance = SharedChance(plan.sampler, context.position)
    verdict = walk(draft.tokens, draft.parents, _rows(context, draft, logits), chance)
    if watch:
        watch(context, draft, verdict, logits)
    target.take(verdict.path)
    return verdict


def cut_short(verdict: Verdict, length: int) -> Verdict:
    """The same verdict if the answer ends after `length` of its tokens."""
    return replace(
        verdict,
        accepted=length,
        token=None,
        kind=TokenKind.NONE,
        judged=verdict.judged[:length],
        path=verdict.path[:length],
    )


def _rows(context: Context, draft: Draft, logits: NDArray[np.float32]) -> Rows:
    """The target's candidates of a pass: row i of the logits follows the first i drafted tokens, in a tree a path."""
    sampler, tokens = context.sampler, context.tokens

    def rows(index: int) -> Candidates:
        before = [draft.tokens[node] for node in draft.path(index - 1)] if draft.parents else draft.tokens[:index]
        return sampler.candidates(logits[index], tokens, before)

    return rows


def _proposals(plan: Plan, draft: Draft) -> Sequence[Candidates]:
    """The rows of q that the drafted tokens were drawn from. Raises SettingError if the drafter does not give them."""
    if plan.drafter is None:
        return ()
    law = plan.drafter.law
    plan.verifier.check(plan.drafter.name, law)
    whole = len(draft.tokens)
    if len(draft.rows) not in {"point": (0,), "drawn": (whole,)}.get(law, (0, whole)):
        raise SettingError(
            f"the drafter {plan.drafter.name!r} declares the law {law!r} and gives {len(draft.rows)} rows of q for "
            f"{whole} tokens: it is broken"
        )
    return draft.rows or [Candidates.certain(token) for token in draft.tokens]
