"""Logit bias and penalties: the stages that change single logits before anything is removed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.params import SamplingParams


class Penalties:
    """The logit bias and the penalties of some sampling parameters, the bias first."""

    __slots__ = ("_bias", "_biased", "_params", "_penalises")

    def __init__(self, params: SamplingParams) -> None:
        self._params = params
        self._penalises = params.penalises
        self._biased = np.array([token for token, _ in params.logit_bias], np.int64)
        self._bias = np.array([bias for _, bias in params.logit_bias], np.float32)

    def applied(
        self, logits: NDArray[np.float32], context: Sequence[int], drafted: Sequence[int] = ()
    ) -> NDArray[np.float32]:
        """The row [V] after bias and penalties for the position that follows these tokens.

        The row that was passed in stays as it is; it is returned itself if nothing changes. A draft model's row may be
        shorter than the target's: ids past its end are ignored.
        """
        if not self._penalises and not len(self._biased):
            return logits
        row = logits.copy()
        if len(self._biased):
            inside = self._biased < len(row)
            row[self._biased[inside]] += self._bias[inside]
        if self._penalises:
            ids, counts = self._window(context, drafted, len(row))
            row[ids] = self._penalised(row[ids].astype(np.float64), counts)
        return row

    def banned(self, size: int) -> NDArray[np.int64]:
        """The ids below `size` that the bias bans, ascending."""
        banned = self._biased[np.isneginf(self._bias)]
        return banned[banned < size]

    def _window(
        self, context: Sequence[int], drafted: Sequence[int], size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct ids among the last `penalty_last_n` tokens, drafted ones included, and how often each occurs."""
        last = self._params.penalty_last_n
        reach = last if last > 0 else len(context) + len(drafted)
        from_context = max(0, reach - len(drafted))
        window = [*context[max(0, len(context) - from_context) :], *drafted[max(0, len(drafted) - reach) :]]
        ids, counts = np.unique(np.array(window, np.int64), return_counts=True)
        inside = ids < size
        return ids[inside], counts[inside]

    def _penalised(self, values: NDArray[np.float64], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        params = self._params
        values = np.where(values <= 0, values * params.repeat_penalty, values / params.repeat_penalty)
        return values - counts * params.frequency_penalty - params.presence_penalty
