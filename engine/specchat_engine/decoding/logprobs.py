"""Log-probabilities: what the model itself thinks of each token of an answer or a prompt, before any sampling stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specchat_engine.decoding.drafts import Context, Draft
from specchat_engine.decoding.rounds import Round
from specchat_engine.decoding.verification import Verdict
from specchat_engine.errors import Cancelled
from specchat_engine.models import SessionModel


@dataclass(frozen=True, slots=True)
class ScoredToken:
    """A token and the logarithm of its probability by the model itself, None if no token comes before it.

    `likeliest` has the ids of the likeliest tokens at its place and their log-probabilities, best first.
    """

    id: int
    logprob: float | None
    likeliest: tuple[tuple[int, float], ...] = ()


class LogProbs:
    """Scores each token that is emitted; it is a `generate.Watch`, to be set as `Session.watch`."""

    def __init__(self, likeliest: int = 0) -> None:
        """Each token comes with the `likeliest` most probable ones."""
        self._likeliest = likeliest
        self._last: list[ScoredToken] = []

    def __call__(self, context: Context, draft: Draft, verdict: Verdict, logits: NDArray[np.float32]) -> None:
        """Scores the accepted tokens and the target's own, before the answer's end may cut them."""
        emitted = zip(verdict.places, verdict.emitted(draft.tokens), strict=False)
        self._last = [scored(logits[row], token, self._likeliest) for row, token in emitted]

    def of(self, event: Round) -> tuple[ScoredToken, ...]:
        """The tokens that a round emitted. Ask before the next round is made."""
        return tuple(self._last[: event.num_emitted])


def scored(logits: NDArray[np.float32], token: int, likeliest: int = 0) -> ScoredToken:
    """A token at a position with these logits [V]."""
    top = float(logits.max())
    total = top + float(np.log(np.exp(logits - top).sum(dtype=np.float64)))
    best: list[tuple[int, float]] = []
    if count := min(likeliest, len(logits)):
        ids = np.flatnonzero(logits >= np.partition(logits, -count)[-count])
        ids = ids[np.argsort(-logits[ids], kind="stable")[:count]]
        best = [(int(candidate), float(logits[candidate]) - total) for candidate in ids]
    return ScoredToken(token, float(logits[token]) - total, tuple(best))


def score_prompt(
    model: SessionModel, tokens: Sequence[int], likeliest: int, cancelled: Callable[[], bool]
) -> list[ScoredToken]:
    """Scores each token after those before it, in passes over as many tokens as a pass may give rows.

    The memory is read anew and then holds all tokens but the last, so that an answer can go on from there. Raises
    Cancelled between two passes, and DecodeError.
    """
    scores = [ScoredToken(tokens[0], None)]
    model.keep(())
    while len(scores) < len(tokens):
        if cancelled():
            raise Cancelled("stopped while the prompt was scored")
        following = tokens[len(scores) : len(scores) + model.max_rows]
        logits = model.advance(tokens[len(scores) - 1 :][: len(following)], len(following))
        scores += [scored(row, token, likeliest) for row, token in zip(logits, following, strict=True)]
    return scores
