"""One output position looked at again: what both models predicted there, and what the sampling stages made of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.decoding.turn import check_given
from specchat_engine.errors import SettingError
from specchat_engine.grammar.held import FREE, HeldGrammar
from specchat_engine.models import SessionModel, SessionVocabulary
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.sampler import Sampler, constraint_of

BEST = 8
"""An inspection always has this many of the best tokens by raw logits, and as many of the best after all stages."""


@dataclass(frozen=True, slots=True)
class InspectedPosition:
    """An output position of an answer to a prompt, in ids, and the parameters in force there.

    `sharpness` is the power that the draft model's distribution was raised to. The answer is `held` to a grammar.
    """

    prompt: Sequence[int]
    answer: Sequence[int]
    position: int
    sampling: SamplingParams
    sharpness: float = 1.0
    held: HeldGrammar = FREE

    @property
    def before(self) -> list[int]:
        """All tokens that precede it."""
        return [*self.prompt, *self.answer[: self.position]]


def sampling_at(position: int, changes: Sequence[tuple[int, SamplingParams]]) -> SamplingParams | None:
    """The parameters in force at a position, None if there are none.

    `changes` has the positions from which parameters were in force. The grammar is always that of the first entry: it
    does not change within an answer.
    """
    in_force = [sampling for begin, sampling in changes if begin <= max(position, 0)]
    return replace(in_force[-1], grammar=in_force[0].grammar) if in_force else None


def inspect(
    target: SessionModel,
    draft: SessionModel | None,
    vocabulary: SessionVocabulary,
    inspected: InspectedPosition,
    requested: Sequence[int],
    cancelled: Callable[[], bool],
) -> Inspection:
    """Reads the tokens before the position into both models, unless they hold them, and compares their predictions.

    Raises SettingError for a position, token or grammar that does not fit, DecodeError, or Cancelled.
    """
    _check(target, vocabulary, inspected, requested)
    before = inspected.before
    constraint = constraint_of(inspected.sampling, vocabulary, inspected.held)
    check_given(inspected.answer[: inspected.position], vocabulary, constraint)
    if constraint:
        constraint.begin(len(before))
    sampler = Sampler(inspected.sampling, 0, constraint)
    ours = _Row(_logits(target, before, cancelled))
    explained = sampler.explain(ours.logits, before)
    theirs = q = None
    if draft and len(before) <= draft.capacity:
        theirs = _Row(_logits(draft, before, cancelled))
        q = sampler.candidates(theirs.logits, before).sharpened(inspected.sharpness)
    p = explained.candidates
    chosen = inspected.answer[inspected.position]
    shown = {*ours.best(), *(token for token, _ in p.best(BEST)), chosen, *requested}

    def about(token: int) -> InspectedToken:
        return InspectedToken(
            id=token,
            text=vocabulary.piece(token).decode("utf-8", "replace"),
            raw_p=ours.raw(token),
            rank=ours.rank(token),
            p=p.probability(token),
            removed_by=explained.removed_by(token),
            raw_q=theirs.raw(token) if theirs else None,
            draft_rank=theirs.rank(token) if theirs and theirs.knows(token) else None,
            q=q.probability(token) if q else None,
        )

    tokens = sorted(map(about, shown), key=lambda token: token.rank)
    return Inspection(inspected.position, chosen, tuple(tokens), inspected.sampling)


class _Row:
    """One model's logits [V] at the place, before any stage."""

    def __init__(self, logits: NDArray[np.float32]) -> None:
        self.logits = logits
        weights = np.exp(logits.astype(np.float64) - float(logits.max()))
        self._p: NDArray[np.float64] = weights / weights.sum()

    def knows(self, token: int) -> bool:
        """Whether the row has this token: a draft model's row may be shorter."""
        return token < len(self.logits)

    def raw(self, token: int) -> float:
        """The softmax of the logits; 0 for a token that the row does not have."""
        return float(self._p[token]) if self.knows(token) else 0.0

    def rank(self, token: int) -> int:
        """1 for the largest logit; ties by id."""
        own = self.logits[token]
        return 1 + int((self.logits > own).sum() + (self.logits[:token] == own).sum())

    def best(self) -> list[int]:
        """The tokens with the largest logits."""
        ids: list[int] = np.argsort(-self.logits, kind="stable")[:BEST].tolist()
        return ids


def _check(
    target: SessionModel, vocabulary: SessionVocabulary, inspected: InspectedPosition, requested: Sequence[int]
) -> None:
    length = len(inspected.answer)
    if inspected.position not in range(length):
        raise SettingError(
            f"there is no position {inspected.position} in an answer of {length} tokens: use 0 to {length - 1}"
        )
    depth = len(inspected.prompt) + inspected.position
    if depth > target.capacity:
        raise SettingError(
            f"position {inspected.position} comes after {depth} tokens, the context holds {target.capacity}: load with "
            "a larger -c"
        )
    for token in (inspected.answer[inspected.position], *requested):
        if token not in range(vocabulary.size):
            raise SettingError(f"there is no token {token}: this vocabulary has 0 to {vocabulary.size - 1}")


def _logits(model: SessionModel, before: Sequence[int], cancelled: Callable[[], bool]) -> NDArray[np.float32]:
    """The row [V] after these tokens, which the model then holds."""
    model.read(before[:-1], cancelled)
    row: NDArray[np.float32] = model.advance(before[-1:], 1)[0].copy()
    return row
