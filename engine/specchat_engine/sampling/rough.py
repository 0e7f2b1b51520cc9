"""What a draft model draws from where min-p leaves few tokens: a row's best ones.

A draft is a guess, and a lossless rule takes care of the text: what lies further down is seldom drawn, and seldom where
the target draws it too. Reading the best tokens one by one off the row costs a few microseconds each behind a pass over
the weights, weighing the whole row some eighty.
"""

from __future__ import annotations

import math
from itertools import accumulate, islice

import numpy as np
from numpy.typing import NDArray

from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.truncation import first_at_least

MOST = 4
"""At most so many tokens are drawn from."""


class RoughTruncation:
    """Top-k, min-p (above 0) and then top-p of a row's best tokens, with top-k as if it were `MOST` at most."""

    __slots__ = ("_depth", "_most", "_temperature", "_top_p")

    def __init__(self, params: SamplingParams) -> None:
        self._most = min(params.top_k or MOST, MOST)
        self._depth = -math.log(params.min_p)
        self._top_p = params.top_p
        self._temperature = params.temperature

    def of(self, logits: NDArray[np.float32], token: int, peak: float) -> Candidates:
        """The distribution on the best of a row [V] with its maximum at `token`, at a temperature above 0.

        The row is changed while this runs, and as it was afterwards.
        """
        lowest = peak - self._depth
        logits[token] = -math.inf
        rival = int(logits.argmax())
        value = logits.item(rival)
        if value < lowest or self._most == 1:
            logits[token] = peak
            return Candidates.certain(token, peak - value)
        best = {token: peak, rival: value}
        while len(best) < self._most:
            logits[rival] = -math.inf
            rival = int(logits.argmax())
            value = logits.item(rival)
            if value < lowest:
                break
            best[rival] = value
        for token, value in best.items():
            logits[token] = value
        if self._top_p < 1:
            weights = [*accumulate([math.exp(value - peak) for value in best.values()])]
            best = dict(islice(best.items(), first_at_least(weights, self._top_p * weights[-1])))
        return Candidates.of(best, self._temperature)
