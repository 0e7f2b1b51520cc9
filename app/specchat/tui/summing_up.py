"""What the statistics are made of: a trace as the advisor takes it, and what the store keeps of all turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

from specchat.stats.advice import Answered
from specchat.stats.curve import costs_of
from specchat.stats.summary import Summary
from specchat.store.store import Store
from specchat.store.turns import Counters
from specchat.traces.trace import Trace
from specchat.tui.advising import answered
from specchat.tui.looking import sampling_of
from specchat_engine.decoding.costs import MeasuredCosts
from specchat_engine.errors import EngineError
from specchat_engine.settings import Settings

LATEST = 300
"""So many answers of a session or a pair are summed up, the newest ones."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What the store knows: the session and the pair summed up, and every pair's counters."""

    session: Summary
    pair: Summary
    pairs: dict[str, Counters]


def kept_of(store: Store, session: int, pair: str) -> Kept:
    """All that is kept of a session, of a pair, and of the machine."""
    return Kept(_summed(store, session=session), _summed(store, pair=pair), store.pairs())


def answered_of(trace: Trace, settings: Settings, drafters: tuple[str, ...], k_max: int) -> Answered:
    """A recorded answer with the settings that it began with; `settings` are for what a trace does not tell."""
    return answered(trace, costs_in(trace), _settings(trace, settings), drafters, k_max)


def _summed(store: Store, pair: str | None = None, session: int | None = None) -> Summary:
    total = Summary()
    for turn in store.turns(pair, session, LATEST):
        kept = (store.stats(turn.message) or {}).get("summary")
        try:
            total += Summary.from_json(kept) if kept else Summary()
        except (KeyError, TypeError, ValueError, AttributeError):
            continue  # kept by another version
    return total


def costs_in(trace: Trace) -> MeasuredCosts:
    """What passes cost: as the engine told at the end, else what the rounds themselves tell."""
    try:
        return MeasuredCosts.from_json(trace.end["costs"]) if trace.end else costs_of(trace.rounds)
    except (KeyError, TypeError, ValueError):
        return costs_of(trace.rounds)


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
