"""Which draft model makes room when memory is short: one that takes main memory and gains nothing for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from specchat_engine.policy.track_record import TrackRecord

_SHORT = 0.05
"""Memory is short if less than this share of it is free. The system then drops pages of the mapped weights, which each
pass reads from the disk again, and soon it swaps or ends programs. While more is free, a draft model that may still pay
on another kind of text costs nobody anything."""


_USUALLY_ACCEPTED = 0.5
"""A draft model of which at least this share is accepted stays: where it loses, other programs are the likely reason,
and those are often also why memory is short."""


def draft_to_unload(
    free: int,
    total: int,
    sizes: Mapping[str, int],
    record: TrackRecord,
    accepted: Callable[[str], float],
    asked: str = "",
) -> str | None:
    """The drafter whose draft model should be unloaded now; None if all should stay.

    `free` and `total` are bytes of main memory; a total of 0 is not known. `sizes` has the bytes of it that each draft
    model takes, and `accepted` tells the share of its tokens that were accepted. While memory is short the one goes
    that has lost most, of those that were tried enough and gained on no kind of text; of equals the largest. One that
    is usually accepted or takes no main memory stays, and so does `asked`, the drafter that the settings name.
    """
    if free >= _SHORT * total:
        return None
    losses = {
        name: record.lost(name)
        for name, size in sizes.items()
        if size and name != asked and accepted(name) < _USUALLY_ACCEPTED
    }
    worst = max(losses, key=lambda name: (losses[name], sizes[name]), default=None)
    return worst if worst and losses[worst] > 0 else None
