"""From a row of logits to the candidates of the rule, and from candidates to a token.

The stages follow llama.cpp's order: grammar, logit bias, penalties, top-k, typical-p, top-p, min-p, temperature. Bias
and penalties change a few entries in place; only a grammar may need more than a few passes over the row.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError
from specchat_engine.grammar.constraint import Constraint, GrammarState
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.grammar_mask import deciding, nothing_left
from specchat_engine.sampling.noise import best_noisy, gumbel
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.penalties import Adjustments
from specchat_engine.sampling.rough import RoughTruncation
from specchat_engine.sampling.truncation import Truncation, first_at_least, tempered


class Sampler:
    """The target's rule of one turn: sampling parameters, noise that belongs to the turn's seed, maybe a grammar.

    `constraint` follows the answer's grammar; whoever made it closes it. `params.grammar` is not looked at here.
    """

    __slots__ = ("_adjusted", "_greedy", "_rough", "_truncation", "_typical", "constraint", "params", "seed")

    def __init__(self, params: SamplingParams, seed: int, constraint: Constraint | None = None) -> None:
        self.params = params
        self.seed = seed
        self.constraint = constraint
        self._truncation: Truncation | RoughTruncation = Truncation(params)
        self._typical = params.typical_p < 1
        self._greedy = params.temperature == 0 and not self._typical
        self._adjusted: tuple[Adjustments, Sampler] | None = None
        self._rough: Sampler | None = None
        if constraint or params.logit_bias or params.penalises:
            cuts = Sampler(replace(params, logit_bias=(), penalty_last_n=0), seed)
            self._adjusted = Adjustments(params), cuts

    def reseeded(self, seed: int) -> Sampler:
        """The same rule with other noise."""
        other = copy(self)
        other.seed, other._rough = seed, None
        return other

    @property
    def rough(self) -> Sampler:
        """What a draft model draws by: the same noise and, where min-p leaves few, the best tokens of nearly the same
        rule, which costs less. What it draws is only proposed, and its candidates are the law of what it draws."""
        if self._rough is None:
            self._rough = copy(self)
            if self.params.min_p > 0:
                self._rough._truncation = RoughTruncation(self.params)
            if self._adjusted is not None:
                adjustments, cuts = self._adjusted
                self._rough._adjusted = adjustments, cuts.rough
        return self._rough

    def candidates(
        self, logits: NDArray[np.float32], context: Sequence[int], drafted: Sequence[int] = ()
    ) -> Candidates:
        """The distribution after all stages for one row [V] of logits.

        `context` and the `drafted` tokens behind it precede this position; penalties and the grammar look back over
        both. The row is changed while this runs, and as it was afterwards. Where the grammar excludes a drafted token
        nothing can be said at this position, and the candidates are those without a grammar.

        Raises DecodeError where the row's maximum is not finite or nothing is left to be said.
        """
        if self._adjusted is not None:
            adjustments, cuts = self._adjusted
            with adjustments.on(logits, context, drafted):
                state = self.constraint.behind(context, drafted) if self.constraint else None
                return self._of_adjusted(cuts, logits, state)
        token = int(logits.argmax())
        peak: float = logits.item(token)
        if not -math.inf < peak < math.inf:
            raise DecodeError(f"the model's largest logit is {peak}: its weights are broken; use another file")
        if self._greedy:
            return Candidates.certain(token)
        if self._typical:
            return self._after_typical(logits, peak)
        return self._truncation.of(logits, token, peak)

    def draw(self, candidates: Candidates, position: int) -> int:
        """The token x = argmax log p + g(seed, position, id): distributed exactly as p (the Gumbel-max trick).

        Ties go to the lowest id.
        """
        if candidates.only is not None:
            return candidates.only
        logits = candidates.logits
        if logits is not None:
            return best_noisy(self.seed, position, logits, candidates.temperature)[0]
        noise_array = gumbel(self.seed, position, candidates.ids)
        return int(candidates.ids[(candidates.log_p + noise_array).argmax()])

    def confidence(self, logits: NDArray[np.float32], candidates: Candidates, token: int) -> float:
        """How sure a row [V] and its candidates are of a token, in [0, 1]: a hint for when to stop drafting.

        Its probability or, for a point mass, its share against the next best token alone: one more pass over the row
        tells that, where the whole mass would take a sum of V exponentials.
        """
        if candidates.only is None:
            return candidates.probability(token)
        lead = candidates.lead
        if lead is None:
            own = logits.item(token)
            logits[token] = -math.inf
            lead = own - logits.item(int(logits.argmax()))
            logits[token] = own
        return 1 / (1 + math.exp(min(-lead, 700.0)))

    def _of_adjusted(self, cuts: Sampler, logits: NDArray[np.float32], state: GrammarState | None) -> Candidates:
        """What the grammar and then the cuts, a sampler with nothing else, leave of a row after bias and penalties."""
        if state is None:
            try:
                return cuts.candidates(logits, ())
            except DecodeError:
                if logits.max() == -math.inf and any(bias == -math.inf for _, bias in self.params.logit_bias):
                    raise nothing_left(len(logits), None, self.params) from None
                raise
        peak = logits.item(int(logits.argmax()))
        if not peak < math.inf:
            return cuts.candidates(logits, ())
        ids = deciding(logits, peak, state.allows, self.params)
        if not len(ids):
            raise nothing_left(len(logits), state, self.params)
        return cuts.candidates(logits[ids], ()).among(ids)

    def _after_typical(self, logits: NDArray[np.float32], peak: float) -> Candidates:
        ids, values = _with_typical(logits, peak, self.params)
        best = int(values.argmax())
        if self.params.temperature == 0:
            return Candidates.certain(int(ids[best]))
        return tempered(ids, values, self.params.temperature)


def _with_typical(
    logits: NDArray[np.float32], peak: float, params: SamplingParams
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """All stages but the temperature, one by one, since typical-p (Meister et al. 2202.00666) may drop the best.

    Returns ids ascending and their logits.
    """
    wanted = min(params.top_k or len(logits), len(logits))
    floor = np.partition(logits, len(logits) - wanted)[len(logits) - wanted] if wanted < len(logits) else -math.inf
    ids = np.flatnonzero(logits >= floor)
    values = logits[ids].astype(np.float64)
    order = np.argsort(-values, kind="stable")[:wanted]

    log_p = values[order] - peak
    log_p -= math.log(np.exp(log_p).sum())
    p = np.exp(log_p)
    possible = p > 0
    surprise = np.abs(-log_p + (p[possible] * log_p[possible]).sum())
    by_surprise = np.argsort(surprise, kind="stable")
    count = first_at_least(p[by_surprise].cumsum().tolist(), params.typical_p)
    order = order[np.sort(by_surprise[:count])]

    weights = np.exp(values[order] - peak).cumsum().tolist()
    order = order[: first_at_least(weights, params.top_p * weights[-1])]
    if params.min_p > 0:
        order = order[values[order] >= values[order[0]] + math.log(params.min_p)]
    order.sort()
    return ids[order], values[order]
