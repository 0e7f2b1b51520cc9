"""A finished answer, as the advisor and the notice of a fallen α look at it. Pure but for the number of cores."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from specchat.stats.advice import Advice, Answered
from specchat.stats.advisor import Memory, advise
from specchat.stats.notice import AlphaRecord, fallen_alpha
from specchat.store.store import Store
from specchat.store.turns import RECORD_TURNS
from specchat.traces.trace import Trace
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.settings import Settings


@dataclass(frozen=True, slots=True)
class LookedBack:
    """What there is to say of an answer: advice, a notice, or neither; and what the advisor remembers."""

    memory: Memory
    advice: Advice | None = None
    notice: str | None = None


def earlier_turns(store: Store, pair: str, message: int) -> Sequence[tuple[int, int]]:
    """How many drafted tokens each of a pair's last turns compared and accepted, this message's turn left out."""
    turns = [turn.counters for turn in store.turns(pair, limit=RECORD_TURNS + 1) if turn.message != message]
    return [(counted.num_tested_tokens, counted.num_accepted_tokens) for counted in turns[:RECORD_TURNS]]


def answered(
    trace: Trace,
    costs: MeasuredCosts,
    settings: Settings,
    drafters: tuple[str, ...],
    k_max: int,
    num_earlier: int = 0,
) -> Answered:
    """A recorded answer as the advisor takes it; `settings` are those at its end."""
    machine = trace.start.get("machine") or {}
    return Answered(
        rounds=tuple(trace.rounds),
        settings=settings,
        costs=costs,
        stats=trace.stats,
        prompt="\n".join(str(message["content"]) for message in trace.start.get("messages", ())),
        drafters=drafters,
        k_max=k_max,
        threads=int(machine.get("threads") or 0),
        cores=os.cpu_count() or 0,
        earlier_turns=num_earlier,
    )


def look_back(
    trace: Trace,
    costs: MeasuredCosts,
    settings: Settings,
    drafters: tuple[str, ...],
    k_max: int,
    before: Sequence[tuple[int, int]],
    memory: Memory | None,
) -> LookedBack:
    """What to say after an answer; a notice only where there is no advice, which tells more."""
    turn = answered(trace, costs, settings, drafters, k_max, len(before))
    advice, memory = advise(turn, memory or Memory())
    if advice is not None:
        return LookedBack(memory, advice)
    figures = turn.figures
    return LookedBack(
        memory, None, fallen_alpha(figures.num_tested_tokens, figures.num_accepted_tokens, AlphaRecord.of(before))
    )
