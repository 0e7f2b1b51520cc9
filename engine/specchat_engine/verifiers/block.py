"""Block verification: judges the draft as a whole and accepts at least as many tokens as `rejection`."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.verifiers.rejection import excess, proposed_with, residual


def block(drafted: Sequence[int], rows: Rows, proposals: Sequence[Candidates], chance: Chance) -> Verdict:
    """Accepts the longest prefix that passes its test, and draws the next token from the residual after it.

    With w_0 = 1 and w_i = min(1, w_(i-1) p(y_i) / q(y_i)), the prefix of length i < k passes with probability
    s_i / (s_i + 1 - w_i), where s_i is the sum over x of (w_i p(x) - q(x))+ after it; the whole draft passes with
    w_k. After an accepted prefix of length i < k the next token is drawn from norm((w_i p - q)+). Lossless under the
    conditions of `rejection`.

    Source: Sun et al., "Block Verification Accelerates Speculative Decoding", arXiv 2403.10444, algorithm 2.
    """
    k = len(drafted)
    judged = [rows(index) for index in range(k + 1)]
    weight, accepted, reached = 1.0, 0, 1.0
    for index, proposed in enumerate(drafted):
        p = judged[index].probability(proposed)
        weight = min(1.0, weight * p / proposed_with(proposals[index], proposed))
        if index + 1 == k:
            passing = weight
        else:
            spare = float(excess(judged[index + 1], proposals[index + 1], weight).sum())
            passing = spare / (spare + 1 - weight) if spare + 1 - weight > 0 else 1.0
        if chance.accepts(index, passing):
            accepted, reached = index + 1, weight
    row = judged[accepted]
    if accepted == k:
        return Verdict(k, chance.draw(k, row), TokenKind.BONUS if drafted else TokenKind.PLAIN, tuple(judged[:k]), row)
    token = chance.draw(accepted, residual(row, proposals[accepted], reached))
    return Verdict(accepted, token, TokenKind.CORRECTION, tuple(judged[: accepted + 1]), row)


BLOCK = Verifier("block", block, lossless=True, couples=False, weighs_q=True)
