"""Rejection sampling: accepts a drafted token with probability min(1, p / q), else draws from the residual."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.errors import DecodeError
from specchat_engine.sampling.candidates import Candidates


def rejection(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], chance: Chance) -> Verdict:
    """Accepts each drafted token with probability min(1, p / q); the first that fails is redrawn from norm((p - q)+).

    Sources: Leviathan, Kalman, Matias, arXiv 2211.17192, algorithm 1; Chen et al., arXiv 2302.01318. Lossless if each
    token was drawn from its row of `proposals` with noise that `chance` does not use.
    """
    judged: list[Candidates] = []
    for index, proposed in enumerate(drafted):
        row = rows(index)
        judged.append(row)
        ratio = row.probability(proposed) / proposed_with(proposals[index], proposed)
        if not chance.accepts(index, min(1.0, ratio)):
            token = chance.draw(index, residual(row, proposals[index]))
            return Verdict(index, token, TokenKind.CORRECTION, tuple(judged), row)
    row = rows(len(drafted))
    token = chance.draw(len(drafted), row)
    return Verdict(len(drafted), token, TokenKind.BONUS if drafted else TokenKind.PLAIN, tuple(judged), row)


def proposed_with(proposal: Candidates, token: int) -> float:
    """The probability q with which a token was proposed.

    Raises DecodeError if the drafter could not have proposed it: its law and its rows contradict each other.
    """
    q = proposal.probability(token)
    if q <= 0:
        raise DecodeError(f"the drafter proposed token {token}, to which its own q gives no chance: it is broken")
    return q


def excess(row: Candidates, proposal: Candidates, weight: float = 1.0) -> NDArray[np.float64]:
    """max(weight * p - q, 0) for each of the row's ids."""
    p = np.exp(row.log_p)
    places = np.minimum(np.searchsorted(proposal.ids, row.ids), len(proposal.ids) - 1)
    q = np.where(proposal.ids[places] == row.ids, np.exp(proposal.log_p[places]), 0.0)
    return np.maximum(weight * p - q, 0.0)


def residual(row: Candidates, proposal: Candidates, weight: float = 1.0) -> Candidates:
    """norm((weight * p - q)+); the row itself if rounding leaves nothing, which happens with probability 0."""
    left = excess(row, proposal, weight)
    mass = float(left.sum())
    if mass <= 0:
        return row
    positive = left > 0
    return Candidates(row.ids[positive], np.log(left[positive] / mass))


REJECTION = Verifier("rejection", rejection, lossless=True, couples=False, weighs_q=True)
