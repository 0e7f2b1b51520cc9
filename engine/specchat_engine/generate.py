"""The decoding loop: draft, verify, rewind, yield."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.candidates import Candidates
from specchat_engine.drafts import NOTHING, Context, Draft, Drafter
from specchat_engine.models import CausalModel
from specchat_engine.rounds import TokenKind
from specchat_engine.sampling import Sampler
from specchat_engine.verify import Draw, Rows, Verdict, Verifier, coupled


@dataclass(slots=True)
class Plan:
    """How the next round is to be made: who drafts, at most how many tokens, under which rule, and why."""

    drafter: Drafter | None
    k: int
    sampler: Sampler
    reason: str


@dataclass(slots=True)
class Step:
    """One round in token ids. `kept` tokens were emitted; `end` is the reason for which the answer ended here."""

    plan: Plan
    draft: Draft
    verdict: Verdict
    kept: int
    end: str | None


Limit = Callable[[Sequence[int]], tuple[int, str | None]]
"""Given the tokens a round would emit: how many of them to keep, and why the answer ends there (None: it goes on)."""


def generate(
    target: CausalModel,
    context: Context,
    plan: Callable[[Context], Plan],
    limit: Limit,
    verifier: Verifier = coupled,
) -> Iterator[Step]:
    """Extends the context round by round until `limit` ends the answer.

    The target's memory holds all tokens of the context but the last, before and after each round, also when the
    caller stops iterating. Source: Leviathan, Kalman, Matias, arXiv 2211.17192, algorithm 1, with any verifier.
    """
    end: str | None = None
    while end is None:
        now = plan(context)
        context.sampler = now.sampler
        draft = now.drafter.propose(context, now.k) if now.drafter and now.k > 0 else NOTHING
        try:
            logits = target.advance((context.tokens[-1], *draft.tokens), len(draft) + 1)
            verdict = verifier(draft.tokens, *_rule(context, draft, logits))
            emitted = [*draft.tokens[: verdict.accepted]]
            if verdict.token is not None:
                emitted.append(verdict.token)
            kept, end = limit(emitted)
            if kept < len(emitted):
                verdict = replace(verdict, accepted=kept, token=None, kind=TokenKind.NONE, p=verdict.p[:kept])
            context.tokens += emitted[:kept]
        finally:
            target.rewind(len(context.tokens) - 1)
        if now.drafter:
            now.drafter.observe(context, draft, verdict)
        yield Step(now, draft, verdict, kept, end)


def _rule(context: Context, draft: Draft, logits: NDArray[np.float32]) -> tuple[Rows, Draw]:
    """The target's side of the rule for one pass: row i of the logits follows the first i drafted tokens."""
    sampler, position = context.sampler, context.position

    def rows(place: int) -> Candidates:
        return sampler.candidates(logits[place], context.tokens, draft.tokens[:place])

    def draw(place: int, row: Candidates) -> int:
        return sampler.draw(row, position + place)

    return rows, draw
