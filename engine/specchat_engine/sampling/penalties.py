"""Logit bias and penalties: changes of a few logits, made in the model's own row and taken back afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.params import SamplingParams


class Adjustments:
    """What the sampling parameters change in a row before anything is cut: first the bias, then the penalties."""

    __slots__ = ("_bias", "_biased", "_params", "_penalises")

    def __init__(self, params: SamplingParams) -> None:
        self._params = params
        self._penalises = params.penalises
        self._biased = np.array([token for token, _ in params.logit_bias], np.int64)
        self._bias = np.array([bias for _, bias in params.logit_bias], np.float32)

    @contextmanager
    def on(self, logits: NDArray[np.float32], context: Sequence[int], drafted: Sequence[int]) -> Iterator[None]:
        """Inside the `with` block the row is adjusted for the place behind these tokens; behind it, it is as before.

        The row is the model's own memory and may be asked for again, so that it is restored in any case. A draft
        model's row may be shorter than the target's: what lies behind its end is left out.
        """
        changed, original = [], []
        try:
            if len(self._biased):
                ids = self._biased
                if ids[-1] >= len(logits):
                    ids = ids[ids < len(logits)]
                changed.append(ids)
                original.append(logits[ids])
                logits[ids] += self._bias[: len(ids)]
            if self._penalises:
                ids, counts = self._window(context, drafted, len(logits))
                changed.append(ids)
                original.append(logits[ids])
                logits[ids] = self._penalised(logits[ids].astype(np.float64), counts)
            yield
        finally:
            for ids, values in zip(reversed(changed), reversed(original), strict=False):
                logits[ids] = values

    def _window(
        self, context: Sequence[int], drafted: Sequence[int], size: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The distinct ids among the last `penalty_last_n` tokens, drafted ones included, and how often each came."""
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
