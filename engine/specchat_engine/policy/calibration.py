"""Measures the passes of a pair while nobody waits for an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import perf_counter_ns, process_time_ns

from specchat_engine.decoding.costs import PassTimes
from specchat_engine.decoding.drafts import Context
from specchat_engine.decoding.rounds import RoundTimes
from specchat_engine.models import SessionModel
from specchat_engine.policy.controller import Controller
from specchat_engine.policy.cost_model import CostCurve
from specchat_engine.settings import DRAFT_MODEL, USUAL_K

PLAIN_BUDGET_MS, PLAIN_SHARE = 250.0, 0.02
"""The most time for plain passes after an answer that had too few: this much, or this share of the answer's time."""

WIDTHS = (1, 2, 4, 8, 16, 3, 12, 32)
"""The widths of the target's passes, the most informative ones first. Curves have steps: four rows may be cheaper than
three, and sixteen as cheap as twelve. Real rounds fill in the others."""

_REPEATS, _INSTANT_MS = 3, 100.0
"""Everything is measured three times, but no repetition begins once all passes have taken this many milliseconds."""


def measure(
    target: SessionModel,
    draft: SessionModel | None,
    controller: Controller,
    drafter: str = DRAFT_MODEL,
    threads: int = 0,
) -> Iterator[None]:
    """Makes a few passes, removes them from the memories, and yields after each, so that the caller can stop.

    The target makes passes over 1 to 32 tokens. The draft model makes drafts of 1 and of `USUAL_K` tokens,
    which are recorded for the `drafter` of this name. `threads` is the most that any drafter of the pair computes with,
    where there are others beside this one. Sizes that already have enough times are skipped, unless these
    are far too long. Raises DecodeError if llama.cpp fails.
    """
    controller.use_threads(target.threads, max(threads, draft.threads if draft else 0))
    spent_ms = 0.0
    for times in range(1, _REPEATS + 1):
        for width in WIDTHS:
            fits = width <= target.max_rows and target.length + width <= target.capacity
            if fits and controller.target.lacks(width, times, target.length):
                if width == 1:  # the first plain pass after any other pass takes longer, so it does not count
                    pass_ms(target, width, width)
                    yield
                milliseconds = pass_ms(target, width, width)
                controller.target.observe(width, target.length, milliseconds)
                spent_ms += milliseconds
                yield
        if draft:
            costs = controller.costs_of(drafter).by_threads.current
            for length in (1, USUAL_K):
                if not costs.lacks(length, times, draft.length):
                    continue
                made: list[float] = []
                while len(made) < length and draft.length < draft.capacity:
                    made.append(pass_ms(draft, 1, 1))
                    if len(made) == length:
                        costs.observe(length, draft.length, sum(made))
                        spent_ms += sum(made)
                    yield
        if spent_ms > _INSTANT_MS:
            return


def pass_ms(model: SessionModel, width: int, rows: int) -> float:
    """The milliseconds of a pass over `width` tokens. The memory is restored afterwards."""
    depth = model.length
    model.checkpoint()
    before = model.busy_ns
    model.advance(range(width), rows)
    milliseconds = (model.busy_ns - before) / 1e6
    model.rewind(depth)
    return milliseconds


def measure_plain(
    target: SessionModel,
    context: Context,
    times: PassTimes,
    costs: CostCurve,
    decode_ms: float,
    stopped: Callable[[], bool],
) -> None:
    """Makes the plain passes that an answer lacks, right after it and within a time limit, and records their costs.

    Each reads the last token once more, and the memory is restored. The first does not count, because a plain pass
    takes longer after any other pass, nor does one after which `stopped` ends them. Raises DecodeError if llama.cpp
    fails.
    """
    end = perf_counter_ns() + max(PLAIN_BUDGET_MS, PLAIN_SHARE * decode_ms) * 1e6
    depth, length, missing = context.middle, target.length, times.plain.missing
    if missing:
        target.checkpoint()
        missing += 1
    first = True
    while missing and not stopped() and perf_counter_ns() <= end:
        before, began, computed = target.busy_ns, perf_counter_ns(), process_time_ns()
        target.advance((context.tokens[-1],), 1)
        milliseconds, computed = (target.busy_ns - before) / 1e6, process_time_ns() - computed
        around = max(0.0, (perf_counter_ns() - began) / 1e6 - milliseconds)
        target.rewind(length)
        missing -= 1
        if not first and not stopped():
            times.plain.observe(milliseconds, times.wanted(RoundTimes(0.0, milliseconds, around)), computed / 1e6)
            costs.observe(1, depth, milliseconds)
        first = False
