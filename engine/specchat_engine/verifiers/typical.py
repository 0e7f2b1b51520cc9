"""Typical acceptance: accepts a drafted token that the target finds likely enough. Lossy."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.sampling.candidates import Candidates

THRESHOLD = 0.09
ENTROPY_SCALE = 0.3
"""Medusa's epsilon and delta."""


def typical(drafted: Sequence[int], rows: Rows, _proposals: Sequence[Candidates], chance: Chance) -> Verdict:
    """Accepts a drafted token whose p is above min(0.09, 0.3 exp(-H(p))); else the target draws its own.

    Source: Cai et al., "Medusa", arXiv 2401.10774, section 2.3.1. H is the entropy of the rule's p, in nats. The text
    is not distributed like the target's: it favours what the draft proposes.
    """
    judged: list[Candidates] = []
    for index, proposed in enumerate(drafted):
        row = rows(index)
        judged.append(row)
        if not row.probability(proposed) > min(THRESHOLD, ENTROPY_SCALE * math.exp(-_entropy(row))):
            return Verdict(index, chance.draw(index, row), TokenKind.CORRECTION, tuple(judged), row)
    row = rows(len(drafted))
    token = chance.draw(len(drafted), row)
    return Verdict(len(drafted), token, TokenKind.BONUS if drafted else TokenKind.PLAIN, tuple(judged), row)


def _entropy(row: Candidates) -> float:
    if row.only is not None:
        return 0.0
    log_p = row.log_p
    return float(-(np.exp(log_p) * log_p).sum())


TYPICAL = Verifier("typical", typical, lossless=False, couples=True, weighs_q=False)
