"""Rounds as lists without names: there are hundreds a second, and between a name and a place a reader takes the place.

Only the two sides of one pipe talk like that, both of the same version. Traces, files and `--json` keep the names.
"""

from __future__ import annotations

from typing import Any

from specchat_engine.decoding.rounds import Candidate, DraftedToken, Outcome, Round, RoundTimes, TargetToken, TokenKind

_OUTCOMES = {outcome.value: outcome for outcome in Outcome}
_KINDS = {kind.value: kind for kind in TokenKind}


def packed(event: Round) -> list[Any]:
    """The round as a list of plain values, for `unpacked`."""
    token, ms = event.token, event.ms
    return [
        event.index,
        event.source,
        event.k,
        event.reason,
        [[drafted.id, drafted.text, drafted.q, drafted.p, drafted.outcome.value] for drafted in event.drafted],
        [token.id, token.text, token.p, token.kind.value],
        [[best.id, best.text, best.p] for best in event.top],
        [ms.draft, ms.verify, ms.other, ms.rollback],
        event.t_ms,
    ]


def unpacked(values: list[Any]) -> Round:
    """The round again. Raises KeyError, TypeError or ValueError for anything else."""
    index, source, k, reason, drafted, (token, text, p, kind), top, times, t_ms = values
    return Round(
        index,
        source,
        k,
        reason,
        tuple([DraftedToken(each, said, q, own, _OUTCOMES[outcome]) for each, said, q, own, outcome in drafted]),
        TargetToken(token, text, p, _KINDS[kind]),
        tuple([Candidate(*best) for best in top]),
        RoundTimes(*times),
        t_ms,
    )
