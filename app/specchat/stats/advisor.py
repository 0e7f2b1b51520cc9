"""At most one line of advice after a turn: only where something can be gained, and not again and again.

A cause is told when it costs 6 % in two answers in a row, or 15 % in one: a single answer's few per cent are often
chance. It is forgotten when it costs less than 3 %. What was told is not told again for eight answers, unless it has
come to cost twice as much.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from specchat.stats.advice import Advice, Answered, Cause
from specchat.stats.drafting_causes import drafting_advice
from specchat.stats.surrounding_causes import surrounding_advice

WORTH, AT_ONCE, NOTHING = 0.06, 0.15, 0.03
_ANSWERS = 2
_SILENCE = 8
_WORSE = 2.0


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of a cause: in which answer, and what it cost then."""

    answer: int
    gain: float


@dataclass(frozen=True, slots=True)
class Memory:
    """What the advisor remembers of a conversation: how many answers there were, in how many in a row each cause was
    worth telling, and what it told."""

    answers: int = 0
    seen: Mapping[Cause, int] = field(default_factory=dict)
    told: Mapping[Cause, Told] = field(default_factory=dict)


def advise(turn: Answered, memory: Memory) -> tuple[Advice | None, Memory]:
    """The advice after this turn, None where there is none to give, and what to remember."""
    found = causes(turn)
    answers = memory.answers + 1
    seen = {cause: _times_seen(found.get(cause), memory.seen.get(cause, 0)) for cause in Cause}
    due = [
        advice
        for cause, advice in found.items()
        if _worth_telling(advice, seen[cause]) and not _silent(advice, memory.told.get(cause), answers)
    ]
    chosen = max(due, key=lambda advice: advice.gain, default=None)
    told = {**memory.told, chosen.cause: Told(answers, chosen.gain)} if chosen else memory.told
    return chosen, Memory(answers, {cause: times for cause, times in seen.items() if times}, told)


def causes(turn: Answered) -> dict[Cause, Advice]:
    """Everything that could be said of a turn, however little it is worth."""
    if not turn.rounds:
        return {}
    return {advice.cause: advice for advice in (*drafting_advice(turn), *surrounding_advice(turn))}


def _times_seen(advice: Advice | None, before: int) -> int:
    """Between 3 % and 6 % a cause is neither seen once more nor forgotten."""
    if advice is None or advice.gain < NOTHING:
        return 0
    return before + 1 if advice.gain >= WORTH else before


def _worth_telling(advice: Advice, seen: int) -> bool:
    return advice.gain >= AT_ONCE or (advice.gain >= WORTH and seen >= _ANSWERS)


def _silent(advice: Advice, told: Told | None, answers: int) -> bool:
    return told is not None and answers - told.answer <= _SILENCE and advice.gain < _WORSE * told.gain
