"""The rule that decides which drafted tokens stand.

A verifier sees the drafted ids and, lazily, the target's candidates of each row: it asks for row i + 1 only when
token i was accepted, so a rejected draft costs no work on the rows behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from specchat_engine.candidates import Candidates
from specchat_engine.rounds import TokenKind


@dataclass(slots=True)
class Verdict:
    """The outcome of one verification.

    The first `accepted` drafted tokens stand; `compared` of them (the rejected one included) have their p in `p`.
    `token` is the target's own token behind them (None for kind NONE), `row` the candidates that it came from.
    """

    accepted: int
    token: int | None
    kind: TokenKind
    p: tuple[float, ...]
    row: Candidates

    @property
    def compared(self) -> int:
        """How many drafted tokens were compared: the accepted ones and the rejected one."""
        return len(self.p)


Rows = Callable[[int], Candidates]
"""Gives the target's candidates behind the first i drafted tokens, for i = 0 … k."""

Draw = Callable[[int, Candidates], int]
"""Draws the target's token behind the first i drafted tokens with the turn's shared noise."""


def coupled(drafted: Sequence[int], rows: Rows, draw: Draw) -> Verdict:
    """Accepts a drafted token exactly when it is the token that the target draws with the same noise.

    Source: Daliri, Musco, Suresh, "Coupling without Communication and Drafter-Invariant Speculative Decoding",
    arXiv 2408.07978. The emitted tokens are the target's own draws, so the text does not depend on the draft at all.
    """
    p: list[float] = []
    for place, proposed in enumerate(drafted):
        row = rows(place)
        token = draw(place, row)
        p.append(row.probability(proposed))
        if token != proposed:
            return Verdict(place, token, TokenKind.CORRECTION, tuple(p), row)
    row = rows(len(drafted))
    token = draw(len(drafted), row)
    return Verdict(len(drafted), token, TokenKind.BONUS if drafted else TokenKind.PLAIN, tuple(p), row)


Verifier = Callable[[Sequence[int], Rows, Draw], Verdict]
"""Any such rule. `coupled` is the default; it is lossless."""
