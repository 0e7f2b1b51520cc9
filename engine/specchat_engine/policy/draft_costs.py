"""What a draft takes: its first pass, the further ones, and what has to be read before.

A `PassCosts` of the draft model holds the first pass of a draft as one over `FIRST` tokens, and the further ones as
passes over `FURTHER`, since they differ by more than that; what is read beside a draft is held as it is.
"""

from __future__ import annotations

from specchat_engine.policy.costs import FIRST, FURTHER, TRUSTED, PassCosts, leaning
from specchat_engine.policy.situation import Outcome, Situation

_USUAL_DRAFT = 0.1
"""A draft step in units of a plain target pass, before some were seen: the first ones are made on cold caches, and a
draft model that looks dear would not be tried again."""

_LITTLE = 8
"""What reading so few tokens costs beyond a draft step cannot be told."""


def expected_ms(costs: PassCosts, depth: int, plain_ms: float) -> tuple[float, float]:
    """What the first pass of a draft takes, with little to read, and what each further one does.

    `plain_ms` is a target's pass over one token.
    """
    usual, told = _USUAL_DRAFT * plain_ms, []
    for width in (FIRST, FURTHER):
        seen, milliseconds = costs.seen(width), costs.at(width, depth) or usual
        told.append(milliseconds if seen > TRUSTED else leaning(milliseconds, seen, usual))
    first_ms, step_ms = told
    return max(first_ms, step_ms), step_ms


def reading_ms(costs: PassCosts, now: Situation, first_ms: float) -> float:
    """What reading the unread tokens costs beyond the first pass that it is part of."""
    return max(0.0, (costs.at(now.unread, now.depth) or first_ms) - first_ms) if now.unread > FIRST else 0.0


def learn(costs: PassCosts, now: Situation, steps: int, outcome: Outcome, between_ms: float) -> None:
    """What a draft of so many passes took, with what it added to the time between passes, `between_ms` in plain rounds.

    Its first pass is timed apart, where the drafter does that. Behind a draft that stood to its end two tokens are
    unread, which cost next to nothing more than one; what a few cost cannot be told. Where all passes are timed
    together, what a longer reading cost is what the steps leave of the time.
    """
    beside_ms = max(0.0, outcome.other_ms - between_ms) / max(steps, 1)
    spent_ms, first_ms = outcome.draft_ms + steps * beside_ms, outcome.first_ms
    if first_ms:
        first_ms += beside_ms
        if now.unread <= FIRST or now.unread > _LITTLE:
            costs.observe(max(now.unread, FIRST), now.depth, first_ms)
        if steps > 1:
            costs.observe(FURTHER, now.depth, (spent_ms - first_ms) / (steps - 1))
        return
    step_ms = costs.at(FURTHER, now.depth)
    if now.unread <= FIRST or step_ms is None:
        costs.observe(FURTHER, now.depth, spent_ms / max(steps, 1))
    elif now.unread > _LITTLE:
        costs.observe(now.unread, now.depth, max(step_ms, spent_ms - (steps - 1) * step_ms))
