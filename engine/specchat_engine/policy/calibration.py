"""What a pair's passes cost, found out while nobody waits for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter_ns

from specchat_engine.decoding.costs import PlainCost
from specchat_engine.decoding.drafts import Context
from specchat_engine.models import SessionModel
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.costs import FIRST, FURTHER, QUICK_MS
from specchat_engine.policy.tables import CostTables
from specchat_engine.settings import USUAL_K
from specchat_engine.threads.choice import Trial

PLAIN_BUDGET_MS = 250.0
"""After a turn at most this long is spent on plain passes, where C(1) is not known yet."""

WIDTHS = (1, 2, 4, 8, 16)
"""Of the target's passes: enough to see the curve and its steps; a real round corrects what lies between."""

_DRAFT_PASSES = ((FIRST, 1), (FURTHER, 1), (8, 8))
"""Of the draft model's: what they count as, and how many tokens they read. The first comes behind a pass of the target,
as the first of a draft does; the second finds its weights at hand and is of the same width, as further ones are."""

_AGAIN, _INSTANT_MS = 3, 100.0
"""All widths are measured up to so many times, as long as the passes took no longer than this."""


def measure(target: SessionModel, draft: SessionModel | None, controller: Controller) -> Iterator[None]:
    """Makes a few passes behind what the memories hold, forgets them, and yields behind each, so that one can stop.

    Five passes of the target and three of the draft model at most or, where all that takes but an instant, up to three
    times as many: one alone may have been disturbed. Widths that were seen as often before are left out. Quick plain
    passes are made twice. Raises DecodeError where llama.cpp fails.
    """
    controller.use_threads(target.threads, draft.threads if draft else 0)
    shapes = [(target, controller.target, width, width, width) for width in WIDTHS if width <= target.max_rows]
    if draft:
        shapes += [(draft, controller.draft, counted, width, 1) for counted, width in _DRAFT_PASSES]
    spent_ms = 0.0
    for times in range(1, _AGAIN + 1):
        for model, costs, counted, width, rows in shapes:
            if costs.seen(counted) >= times or model.length + width > model.capacity:
                continue
            milliseconds = pass_ms(model, width, rows)
            if model is target and width == 1 and milliseconds < QUICK_MS:
                milliseconds = pass_ms(model, width, rows)
            costs.observe(counted, model.length, milliseconds)
            spent_ms += milliseconds
            yield
        if spent_ms > _INSTANT_MS:
            return


def try_target_threads(target: SessionModel, trial: Trial, costs: CostTables) -> Iterator[None]:
    """Lets thread counts of the target take turns, and yields behind each pass, whose costs are learned as well.

    A count is timed by what a target does: a pass over one token and one over a usual draft. A pass that follows
    another count's comes first and is not timed, since threads begin and end there; where it takes far too long, wide
    ones would keep somebody waiting who comes meanwhile, and are not made.
    """
    shapes = 1, 1, min(USUAL_K + 1, target.max_rows)
    single_ms: float | None = None
    while block := trial.block:
        times: dict[int, float] = {}
        for threads in block:
            made: list[float] = []
            for width in shapes:
                if target.length + width > target.capacity:
                    return
                made.append(_with_threads(target, threads, width, width))
                if len(made) > 1:
                    costs.of(threads).observe(width, target.length, made[-1])
                yield
                if single_ms and len(made) == 1 and trial.leaves_behind(threads, made[0] / single_ms):
                    break
            else:
                times[threads] = sum(made[1:])
                single_ms = single_ms or made[1]
        trial.observe(times)


def try_draft_threads(target: SessionModel, draft: SessionModel, trial: Trial, costs: CostTables) -> Iterator[None]:
    """Lets thread counts of the draft model take turns, and yields behind each round; a step's costs are learned.

    A count is timed by a usual round, the target's pass included: what threads that begin and end between the two
    models cost is paid there, and what a round does not notice is no gain.
    """
    width = min(USUAL_K + 1, target.max_rows)
    while block := trial.block:
        times: dict[int, float] = {}
        for threads in block:
            if target.length + width > target.capacity or draft.length + 1 > draft.capacity:
                return
            _with_threads(draft, threads, 1, 1)
            checking_ms = pass_ms(target, width, width)
            first_ms = _with_threads(draft, threads, 1, 1)
            further_ms = sum(_with_threads(draft, threads, 1, 1) for _ in range(USUAL_K - 1))
            costs.of(threads).observe(FIRST, draft.length, first_ms)
            costs.of(threads).observe(FURTHER, draft.length, further_ms / (USUAL_K - 1))
            times[threads] = checking_ms + first_ms + further_ms
            yield
        trial.observe(times)


def _with_threads(model: SessionModel, threads: int, width: int, rows: int) -> float:
    """The milliseconds of a pass with so many threads, in force for this pass alone."""
    before, model.threads = model.threads, threads
    try:
        return pass_ms(model, width, rows)
    finally:
        model.threads = before


def pass_ms(model: SessionModel, width: int, rows: int) -> float:
    """The milliseconds of a pass that is forgotten again."""
    depth = model.length
    model.checkpoint()
    before = model.busy_ns
    model.advance(range(width), rows)
    milliseconds = (model.busy_ns - before) / 1e6
    model.rewind(depth)
    return milliseconds


def measure_plain(
    target: SessionModel, context: Context, cost: PlainCost, controller: Controller, cancelled: Callable[[], bool]
) -> None:
    """Makes up for plain passes that are missing behind an answer, within a budget, and learns what they cost."""
    depth = context.middle
    for milliseconds in plain_passes(target, context.tokens[-1], depth, cost, cancelled):
        controller.target.observe(1, depth, milliseconds)


def plain_passes(
    target: SessionModel, token: int, depth: int, cost: PlainCost, cancelled: Callable[[], bool]
) -> Iterator[float]:
    """Makes up for plain passes that are missing near a depth, within a budget; yields the milliseconds of each.

    Each reads the token behind what the memory holds, and is forgotten again; the first one does not count where it
    was quick. Raises DecodeError where llama.cpp fails.
    """
    end = perf_counter_ns() + PLAIN_BUDGET_MS * 1e6
    length, missing = target.length, cost.missing(depth)
    if missing:
        target.checkpoint()
    first = True
    while missing and not cancelled() and perf_counter_ns() <= end:
        before = target.busy_ns
        target.advance((token,), 1)
        milliseconds = (target.busy_ns - before) / 1e6
        target.rewind(length)
        if not first or milliseconds >= QUICK_MS:
            missing -= 1
            cost.observe(depth, milliseconds)
            yield milliseconds
        first = False
