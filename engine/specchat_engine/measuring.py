"""What a pair's passes cost, found out while nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter_ns

from specchat_engine.control.controller import Controller
from specchat_engine.control.costs import PassCosts
from specchat_engine.costs import PlainCost
from specchat_engine.models import SessionModel

PLAIN_BUDGET_MS = 250.0
"""After a turn at most this long is spent on plain passes, where C(1) is not known yet."""

_WIDTHS = (1, 2, 4, 8, 16)
"""Of the target's passes: enough to see the curve and its steps; a real round corrects what lies between."""

_DRAFT_WIDTHS = (1, 8)


def measure(target: SessionModel, draft: SessionModel | None, controller: Controller) -> Iterator[None]:
    """Makes a few passes behind what the memories hold, forgets them, and yields behind each, so that one can stop.

    Widths that were seen before are left out.

    At most five passes of the target and two of the draft model. Raises DecodeError where llama.cpp fails.
    """
    yield from _passes(target, controller.target, [(width, width) for width in _WIDTHS if width <= target.max_rows])
    if draft:
        yield from _passes(draft, controller.draft, [(width, 1) for width in _DRAFT_WIDTHS])


def _passes(model: SessionModel, costs: PassCosts, shapes: Sequence[tuple[int, int]]) -> Iterator[None]:
    """Passes of so many tokens and rows of logits."""
    depth = model.length
    for width, rows in shapes:
        if depth + width > model.capacity:
            return
        if costs.seen(width):
            continue
        model.checkpoint()
        before = model.busy_ns
        model.advance(range(width), rows)
        costs.observe(width, depth, (model.busy_ns - before) / 1e6)
        model.rewind(depth)
        yield


def plain_passes(
    target: SessionModel, token: int, depth: int, cost: PlainCost, cancelled: Callable[[], bool]
) -> Iterator[float]:
    """Makes up for plain passes that are missing near a depth, within a budget; yields the milliseconds of each.

    Each reads the token behind what the memory holds, and is forgotten again. Raises DecodeError where llama.cpp fails.
    """
    end = perf_counter_ns() + PLAIN_BUDGET_MS * 1e6
    length, missing = target.length, cost.missing(depth)
    if missing:
        target.checkpoint()
    for _ in range(missing):
        if cancelled() or perf_counter_ns() > end:
            return
        before = target.busy_ns
        target.advance((token,), 1)
        milliseconds = (target.busy_ns - before) / 1e6
        target.rewind(length)
        cost.observe(depth, milliseconds)
        yield milliseconds
