"""One output position looked at again: both models' rows of logits, and what the stages make of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.analysis.inspection import InspectedToken, Inspection
from specchat_engine.errors import DecodeError, SettingError
from specchat_engine.grammar.constraint import Constraint, constraint_of
from specchat_engine.models import SessionModel, SessionVocabulary
from specchat_engine.prompt.prefill import check_given
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.penalties import Adjustments
from specchat_engine.sampling.sampler import Sampler
from specchat_engine.sampling.stages import STAGES, SURVIVED, removed_by

BEST = 8
"""So many tokens are told about in any case, of the best by the raw logits and of the best behind all stages."""


@dataclass(frozen=True, slots=True)
class Place:
    """An output position of an answer to a prompt, in ids, and the parameters that were in force there.

    Where the verifier `couples`, the draft model draws roughly by the target's rule, else exactly.
    """

    prompt: Sequence[int]
    answer: Sequence[int]
    position: int
    sampling: SamplingParams
    couples: bool = True

    @property
    def before(self) -> list[int]:
        """All tokens that precede it."""
        return [*self.prompt, *self.answer[: self.position]]


def sampling_at(position: int, changes: Sequence[tuple[int, SamplingParams]]) -> SamplingParams | None:
    """What was in force at a position, told by the positions from which on parameters were; None where none were.

    The grammar is the first one's: it does not change in mid-answer.
    """
    found = [sampling for begin, sampling in changes if begin <= max(position, 0)]
    return replace(found[-1], grammar=found[0].grammar) if found else None


def inspect(
    target: SessionModel,
    draft: SessionModel | None,
    vocabulary: SessionVocabulary,
    place: Place,
    asked: Sequence[int],
    cancelled: Callable[[], bool],
) -> Inspection:
    """Reads what precedes the place into both models, as far as they do not hold it, and tells what they make of it.

    Raises SettingError for a place, a token or a grammar that does not fit, DecodeError, or Cancelled.
    """
    _check(target, vocabulary, place, asked)
    before = place.before
    constraint = constraint_of(place.sampling, vocabulary)
    try:
        check_given(place.answer[: place.position], vocabulary, constraint)
        if constraint:
            constraint.begin(len(before))
        sampler = Sampler(place.sampling, 0, constraint)
        seen = _Row(_logits(target, before, cancelled), sampler, before)
        drafted = None
        if draft and len(before) <= draft.capacity:
            drafted = _Row(_logits(draft, before, cancelled), sampler.rough if place.couples else sampler, before)
        removed = _removed(seen.logits, constraint, place.sampling, before)
    finally:
        if constraint:
            constraint.close()
    said = place.answer[place.position]
    told = {*seen.best(), *(token for token, _ in seen.final.best(BEST)), said, *asked}

    def about(token: int) -> InspectedToken:
        p = seen.final.probability(token)
        return InspectedToken(
            id=token,
            text=vocabulary.piece(token).decode("utf-8", "replace"),
            raw_p=seen.raw(token),
            rank=seen.rank(token),
            p=p,
            removed_by=None if p or removed[token] == SURVIVED else STAGES[removed[token]],
            raw_q=drafted.raw(token) if drafted else None,
            draft_rank=drafted.rank(token) if drafted and drafted.knows(token) else None,
            q=drafted.final.probability(token) if drafted else None,
        )

    tokens = sorted(map(about, told), key=lambda token: token.rank)
    return Inspection(place.position, said, tuple(tokens), place.sampling)


class _Row:
    """One model's logits [V] at the place: as they came, and behind all stages."""

    def __init__(self, logits: NDArray[np.float32], sampler: Sampler, before: Sequence[int]) -> None:
        self.logits = logits
        self.final: Candidates = sampler.candidates(logits, before)
        weights = np.exp(logits.astype(np.float64) - float(logits.max()))
        self._p: NDArray[np.float64] = weights / weights.sum()

    def knows(self, token: int) -> bool:
        """Whether the row has this token: a draft model's may be shorter."""
        return token < len(self.logits)

    def raw(self, token: int) -> float:
        """The softmax of the logits alone; 0 for a token that the row does not have."""
        return float(self._p[token]) if self.knows(token) else 0.0

    def rank(self, token: int) -> int:
        """1 for the largest logit; ties by id."""
        own = self.logits[token]
        return 1 + int((self.logits > own).sum() + (self.logits[:token] == own).sum())

    def best(self) -> list[int]:
        """The tokens with the largest logits."""
        count = min(BEST, len(self.logits))
        found: list[int] = np.argsort(-self.logits, kind="stable")[:count].tolist()
        return found


def _check(target: SessionModel, vocabulary: SessionVocabulary, place: Place, asked: Sequence[int]) -> None:
    length = len(place.answer)
    if place.position not in range(length):
        raise SettingError(
            f"there is no position {place.position} in an answer of {length} tokens: use 0 to {length - 1}"
        )
    deep = len(place.prompt) + place.position
    if deep > target.capacity:
        raise SettingError(
            f"position {place.position} lies {deep} tokens deep, the context holds {target.capacity}: load with a "
            "larger -c"
        )
    for token in (place.answer[place.position], *asked):
        if token not in range(vocabulary.size):
            raise SettingError(f"there is no token {token}: this vocabulary has 0 to {vocabulary.size - 1}")


def _logits(model: SessionModel, before: Sequence[int], cancelled: Callable[[], bool]) -> NDArray[np.float32]:
    """The row [V] behind these tokens, which the model then holds."""
    model.read(before[:-1], cancelled)
    row: NDArray[np.float32] = model.advance(before[-1:], 1)[0].copy()
    return row


def _removed(
    logits: NDArray[np.float32], constraint: Constraint | None, sampling: SamplingParams, before: Sequence[int]
) -> NDArray[np.int8]:
    allowed = None
    if constraint:
        state = constraint.behind(before, ())
        if state is None:
            raise DecodeError("the grammar ended before this position")
        allowed = state.allows(np.arange(len(logits)))
    with Adjustments(sampling).on(logits, before, ()):
        return removed_by(logits, allowed, sampling)
