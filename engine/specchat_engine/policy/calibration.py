"""Measures what a pair's passes cost while nobody waits for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter_ns

from specchat_engine.decoding.costs import PlainCost
from specchat_engine.decoding.drafts import Context
from specchat_engine.drafters import ModelDrafter
from specchat_engine.models import SessionModel
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.cost_model import CostCurve
from specchat_engine.settings import USUAL_K

PLAIN_BUDGET_MS = 250.0
"""After a turn at most this long is spent on plain passes, if C(1) is not known yet."""

WIDTHS = (1, 2, 4, 8, 16)
"""The widths of the target's passes: enough to see the curve and its steps. Real rounds correct what lies between."""

_REPEATS, _INSTANT_MS = 3, 100.0
"""Everything is measured up to three times, as long as the passes took no longer than this together."""


def measure(
    target: SessionModel, draft: SessionModel | None, controller: Controller, drafter: str = ModelDrafter.name
) -> Iterator[None]:
    """Makes a few passes, forgets them, and yields after each, so that the caller can stop.

    These are passes of the target over 1, 2, 4, 8 and 16 tokens, and drafts of 1 and of `USUAL_K` tokens by the draft
    model, whose costs count as those of the `drafter` with this name. What was measured as often before is left out.
    Raises DecodeError if llama.cpp fails.
    """
    controller.use_threads(target.threads, draft.threads if draft else 0)
    spent_ms = 0.0
    for times in range(1, _REPEATS + 1):
        for width in WIDTHS:
            fits = width <= target.max_rows and target.length + width <= target.capacity
            if fits and controller.target.seen(width) < times:
                if width == 1:  # a plain pass after one of another sort takes longer than among others
                    pass_ms(target, width, width)
                    yield
                milliseconds = pass_ms(target, width, width)
                controller.target.observe(width, target.length, milliseconds)
                spent_ms += milliseconds
                yield
        if draft:
            costs = controller.costs_of(drafter).by_threads.now
            for length in (1, USUAL_K):
                if draft.length < draft.capacity and costs.seen(length) < times:
                    milliseconds = sum(pass_ms(draft, 1, 1) for _ in range(length))
                    costs.observe(length, draft.length, milliseconds)
                    spent_ms += milliseconds
                    yield
        if spent_ms > _INSTANT_MS:
            return


def pass_ms(model: SessionModel, width: int, rows: int) -> float:
    """The milliseconds of a pass over `width` tokens, which is forgotten again."""
    depth = model.length
    model.checkpoint()
    before = model.busy_ns
    model.advance(range(width), rows)
    milliseconds = (model.busy_ns - before) / 1e6
    model.rewind(depth)
    return milliseconds


def measure_plain(
    target: SessionModel, context: Context, cost: PlainCost, costs: CostCurve, cancelled: Callable[[], bool]
) -> None:
    """Makes the plain passes that are missing near an answer's depth, within a budget, and learns what they cost.

    Each reads the last token again after what the memory holds, and is forgotten. The first does not count: a plain
    pass after one of another sort takes longer than among others. Raises DecodeError if llama.cpp fails.
    """
    end = perf_counter_ns() + PLAIN_BUDGET_MS * 1e6
    depth, length, missing = context.middle, target.length, cost.missing(context.middle)
    if missing:
        target.checkpoint()
        missing += 1
    first = True
    while missing and not cancelled() and perf_counter_ns() <= end:
        before = target.busy_ns
        target.advance((context.tokens[-1],), 1)
        milliseconds = (target.busy_ns - before) / 1e6
        target.rewind(length)
        missing -= 1
        if not first:
            cost.observe(depth, milliseconds)
            costs.observe(1, depth, milliseconds)
        first = False
