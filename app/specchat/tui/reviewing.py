"""What is computed from finished answers: advice about the last one, and the statistics of many."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

from specchat.stats.advice import Advice, Answered
from specchat.stats.advisor import AlphaRecord, Memory, advise, fallen_alpha
from specchat.stats.curve import costs_of
from specchat.stats.summary import Summary
from specchat.store.store import Store
from specchat.store.turns import RECORD_TURNS, Counters
from specchat.traces.trace import Trace
from specchat.tui.recording import sampling_of
from specchat_engine.codec import from_json
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.errors import EngineError
from specchat_engine.settings import Settings

MAX_TURNS = 300
"""The statistics cover this many answers of a session or a pair, the newest ones."""


@dataclass(frozen=True, slots=True)
class Review:
    """What there is to say about an answer: advice, a notice, or neither; and what the advisor remembers."""

    memory: Memory
    advice: Advice | None = None
    notice: str | None = None


def earlier_turns(store: Store, pair: str, message: int) -> Sequence[tuple[int, int]]:
    """The compared and the accepted tokens of each of a pair's last turns, without the turn of this message."""
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


def review(turn: Answered, before: Sequence[tuple[int, int]], memory: Memory | None) -> Review:
    """What to say after an answer. There is a notice only if there is no advice, which says more."""
    advice, memory = advise(turn, memory or Memory())
    if advice is not None:
        return Review(memory, advice)
    figures = turn.figures
    return Review(
        memory, None, fallen_alpha(figures.num_tested_tokens, figures.num_accepted_tokens, AlphaRecord.of(before))
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """What the store knows: the session and the pair summed up, and every pair's counters."""

    session: Summary
    pair: Summary
    pairs: dict[str, Counters]


def stored_of(store: Store, session: int, pair: str) -> Stored:
    """The statistics of a session, of a pair, and of every pair on this machine."""
    return Stored(_summed(store, session=session), _summed(store, pair=pair), store.pairs())


def answered_of(trace: Trace, settings: Settings, drafters: tuple[str, ...], k_max: int) -> Answered:
    """A recorded answer with the settings that it began with; `settings` provide what the trace does not name."""
    return answered(trace, costs_in(trace), _settings(trace, settings), drafters, k_max)


def costs_in(trace: Trace) -> MeasuredCosts:
    """What passes cost: as the engine measured at the end of the turn, else estimated from the rounds."""
    try:
        return from_json(MeasuredCosts, trace.end["costs"]) if trace.end else costs_of(trace.rounds)
    except (KeyError, TypeError, ValueError):
        return costs_of(trace.rounds)


def _summed(store: Store, pair: str | None = None, session: int | None = None) -> Summary:
    total = Summary()
    for turn in store.turns(pair, session, MAX_TURNS):
        kept = (store.stats(turn.message) or {}).get("summary")
        try:
            total += from_json(Summary, kept) if kept else Summary()
        except ValueError:
            continue  # stored by another version
    return total


def _settings(trace: Trace, otherwise: Settings) -> Settings:
    params = trace.start.get("params", {})
    try:
        return replace(
            otherwise,
            k=params.get("k", otherwise.k),
            drafter=trace.start.get("drafter", otherwise.drafter),
            verifier=trace.start["verifier"],
            sampling=sampling_of(params, otherwise.sampling),
        )
    except EngineError:
        return otherwise
