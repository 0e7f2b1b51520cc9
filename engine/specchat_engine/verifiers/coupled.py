"""The coupled rule: accepts a drafted token exactly when the target draws it with the same noise."""

from __future__ import annotations

from collections.abc import Sequence

from specchat_engine.decoding.drafts import ROOT
from specchat_engine.decoding.rounds import TokenKind
from specchat_engine.decoding.verification import Chance, Rows, Verdict, Verifier
from specchat_engine.sampling.candidates import Candidates


def coupled(drafted: Sequence[int], rows: Rows, _proposals: Sequence[Candidates], chance: Chance) -> Verdict:
    """Accepts a drafted token exactly when it is the token that the target draws with the same noise.

    Source: Daliri, Musco, Suresh, "Coupling without Communication and Drafter-Invariant Speculative Decoding",
    arXiv 2408.07978. The emitted tokens are the target's own draws, so the text does not depend on the draft at all.
    """
    judged: list[Candidates] = []
    for index, proposed in enumerate(drafted):
        row = rows(index)
        judged.append(row)
        token = chance.draw(index, row)
        if token != proposed:
            return Verdict(index, token, TokenKind.CORRECTION, tuple(judged), row)
    row = rows(len(drafted))
    token = chance.draw(len(drafted), row)
    return Verdict(len(drafted), token, TokenKind.BONUS if drafted else TokenKind.PLAIN, tuple(judged), row)


def coupled_tree(drafted: Sequence[int], parents: Sequence[int], rows: Rows, chance: Chance) -> Verdict:
    """Walks down from the root while the target's token is a child of the place reached. Lossless as `coupled` is."""
    children: dict[int, dict[int, int]] = {}
    for node, parent in enumerate(parents):
        children.setdefault(parent, {}).setdefault(drafted[node], node)
    judged: list[Candidates] = []
    path: list[int] = []
    node = ROOT
    while True:
        row = rows(node + 1)
        token = chance.draw(len(path), row)
        following = children.get(node, {})
        if following:
            judged.append(row)
        if token not in following:
            kind = TokenKind.CORRECTION if following else TokenKind.BONUS
            return Verdict(len(path), token, kind, tuple(judged), row, tuple(path))
        node = following[token]
        path.append(node)


COUPLED = Verifier("coupled", coupled, lossless=True, couples=True, weighs_q=False, walk=coupled_tree)
