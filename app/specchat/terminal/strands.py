"""The drafted tokens of a round in reading order: the path through its tree, and the branches beside it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from specchat_engine.decoding.rounds import DraftedToken, Round


class Strand(NamedTuple):
    """Tokens that are read in a row; those of a branch that was not taken stand `aside`, before the token that was."""

    tokens: tuple[DraftedToken, ...]
    aside: bool = False


def strands(event: Round) -> Iterator[Strand]:
    """A chain is one strand. In a tree the branches at a place come before the token that was accepted there; behind
    the last one accepted, the first branch goes on as a chain would."""
    if not event.parents:
        yield Strand(event.drafted)
        return
    following: dict[int, list[int]] = {}
    for place, parent in enumerate(event.parents):
        following.setdefault(parent, []).append(place)

    def branch(place: int, *, aside: bool) -> Strand:
        found, waiting = [], [place]
        while waiting:
            found.append(waiting.pop())
            waiting += reversed(following.get(found[-1], ()))
        return Strand(tuple(event.drafted[one] for one in found), aside)

    accepted = event.num_accepted
    for depth in range(accepted):
        yield from (branch(place, aside=True) for place in following[depth - 1] if place != depth)
        yield Strand((event.drafted[depth],))
    for number, place in enumerate(following.get(accepted - 1, ())):
        yield branch(place, aside=number > 0)
