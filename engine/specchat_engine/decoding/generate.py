"""The decoding loop: draft, verify, rewind, yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import NOTHING, Context, Draft, Drafter
from specchat_engine.decoding.randomness import RoundChance, SharedChance, proposer
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Rows, Verdict, Verifier
from specchat_engine.errors import SettingError
from specchat_engine.models import CausalModel
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.verifiers import COUPLED


@dataclass(slots=True)
class Plan:
    """How a round is to be made: who drafts, at most how many tokens, under which rule, and why. It may be used again.

    `stop` begins what may end a draft before k, told how sure the drafter was of each token: `Context.worth_more`.
    """

    drafter: Drafter | None
    k: int
    sampler: Sampler
    reason: str
    verifier: Verifier = COUPLED
    stop: Callable[[], Callable[[float], bool]] | None = None


@dataclass(slots=True)
class Step:
    """One round in token ids. `kept` tokens were emitted; `end` is the reason for which the answer ended here."""

    plan: Plan
    draft: Draft
    verdict: Verdict
    kept: int
    end: str | None


_PLAIN = TokenKind.PLAIN

Limit = Callable[[Sequence[int]], tuple[int, str | None]]
"""Given the tokens a round would emit: how many of them to keep, and why the answer ends there (None: it goes on)."""


def generate(
    target: CausalModel,
    context: Context,
    plan: Callable[[Context], Plan],
    limit: Limit,
) -> Iterator[Step]:
    """Extends the context round by round until `limit` ends the answer.

    The target's memory holds all tokens of the context but the last, before and after each round, also when the
    caller stops iterating. Source: Leviathan, Kalman, Matias, arXiv 2211.17192, algorithm 1, with any verifier.

    Raises SettingError where a plan's verifier cannot keep its promise with the plan's drafter.
    """
    end: str | None = None
    while end is None:
        now = plan(context)
        sampler, verifier, position = now.sampler, now.verifier, context.position
        context.sampler, draft = sampler, NOTHING
        if now.drafter and now.k > 0:
            context.worth_more = now.stop() if now.stop else None
            context.proposer = sampler if verifier.couples else proposer(sampler, position)
            draft = now.drafter.propose(context, now.k)
        try:
            if (
                verifier.couples and not draft.tokens
            ):  # what `coupled` says of no draft: with fewer calls, which are dear behind a pass, by some 10 µs
                row = sampler.candidates(target.follow(context.tokens[-1]), context.tokens)
                verdict = Verdict(0, sampler.draw(row, position), _PLAIN, (), row)
            else:
                verdict = _verified(target, context, now, draft)
            emitted = [*draft.tokens[: verdict.accepted]]
            if verdict.token is not None:
                emitted.append(verdict.token)
            kept, end = limit(emitted)
            if kept < len(emitted):
                verdict = replace(verdict, accepted=kept, token=None, kind=TokenKind.NONE, judged=verdict.judged[:kept])
            context.tokens += emitted[:kept]
        except BaseException:
            target.rewind(len(context.tokens) - 1)
            raise
        if kept <= len(draft.tokens):
            target.rewind(len(context.tokens) - 1)
        if now.drafter:
            now.drafter.observe(context, draft, verdict)
        yield Step(now, draft, verdict, kept, end)


def _verified(target: CausalModel, context: Context, plan: Plan, draft: Draft) -> Verdict:
    """One pass over the last token and the draft, and what the plan's rule makes of it."""
    sampler, verifier, position = plan.sampler, plan.verifier, context.position
    logits = target.advance((context.tokens[-1], *draft.tokens), len(draft.tokens) + 1)
    chance = SharedChance(sampler, position) if verifier.couples else RoundChance(sampler, position)
    proposals = _proposals(plan, draft) if verifier.weighs_q and draft.tokens else ()
    return verifier.decide(draft.tokens, _rows(context, draft, logits), proposals, chance)


def _rows(context: Context, draft: Draft, logits: NDArray[np.float32]) -> Rows:
    """The target's side of a pass: row i of the logits follows the first i drafted tokens."""
    sampler, tokens = context.sampler, context.tokens

    def rows(place: int) -> Candidates:
        return sampler.candidates(logits[place], tokens, draft.tokens[:place])

    return rows


def _proposals(plan: Plan, draft: Draft) -> Sequence[Candidates]:
    """The rows of q that the drafted tokens were drawn from. Raises SettingError where the drafter does not tell."""
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
