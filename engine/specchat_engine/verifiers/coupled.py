"""The coupled rule: accepts a drafted token exactly when the target draws it with the same noise."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.sampling.candidates import Candidates


def coupled(drafted: Sequence[int], rows: Rows, _proposals: Sequence[Candidates], chance: Chance) -> Verdict:
    """Accepts a drafted token exactly when it is the token that the target draws with the same noise.

    Source: Daliri, Musco, Suresh, "Coupling without Communication and Drafter-Invariant Speculative Decoding",
    arXiv 2408.07978. The emitted tokens are the target's own draws, so the text does not depend on the draft at all.
    """
    judged: list[Candidates] = []
    for place, proposed in enumerate(drafted):
        row = rows(place)
        judged.append(row)
        token = chance.draw(place, row)
        if token != proposed:
            return Verdict(place, token, TokenKind.CORRECTION, tuple(judged), row)
    row = rows(len(drafted))
    token = chance.draw(len(drafted), row)
    return Verdict(len(drafted), token, TokenKind.BONUS if drafted else TokenKind.PLAIN, tuple(judged), row)


COUPLED = Verifier("coupled", coupled, lossless=True, couples=True, weighs_q=False)
