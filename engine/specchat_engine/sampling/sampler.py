"""From a row of logits to the candidates of the rule, and from candidates to a token.

The stages follow llama.cpp's order: grammar, logit bias, penalties, top-k, typical-p, top-p, min-p, temperature. A
grammar comes first: what it excludes has probability 0, and the other stages work on the rest.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError
from specchat_engine.grammar.constraint import Constraint, GrammarState, GrammarVocabulary
from specchat_engine.grammar.held import HeldGrammar
from specchat_engine.sampling.candidates import Candidates
from specchat_engine.sampling.noise import NOISE_RANGE, gumbel
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.pipeline import Pipeline, Pool


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


@dataclass(frozen=True, slots=True, eq=False)
class ExplainedRow:
    """The candidates of a row, and the ids that each stage removed from it, by the stage's name.

    The stages are "grammar", "logit-bias" (a ban), "top-k", "typical-p", "top-p", "min-p" and "temperature" (0 keeps
    the best token alone).
    """

    candidates: Candidates
    removed: Mapping[str, NDArray[np.int64]]

    def removed_by(self, token: int) -> str | None:
        """The stage that removed a token, None if it survived or if the model itself rules it out."""
        return next((stage for stage, ids in self.removed.items() if token in ids), None)


class Sampler:
    """The target's rule for one turn: sampling parameters, the turn's noise, and maybe a grammar.

    `constraint` follows the answer's grammar. `params.grammar` is not used here.
    """

    __slots__ = ("_penalties", "_pipeline", "constraint", "params", "seed")

    def __init__(self, params: SamplingParams, seed: int, constraint: Constraint | None = None) -> None:
        self.params = params
        self.seed = seed
        self.constraint = constraint
        self._penalties = Penalties(params)
        self._pipeline = Pipeline(params)

    def reseeded(self, seed: int) -> Sampler:
        """The same rule with other noise."""
        other = copy(self)
        other.seed = seed
        return other

    def candidates(
        self, logits: NDArray[np.float32], context: Sequence[int], drafted: Sequence[int] = ()
    ) -> Candidates:
        """The distribution after all stages for one row [V] of logits.

        `context` and then the `drafted` tokens precede this position; penalties and the grammar look back over both.
        If the grammar excludes a drafted token, nothing can be said at this position, and the candidates are those
        without a grammar.

        Raises DecodeError if the row's maximum is not finite or no token is possible.
        """
        row, best, state = self._prepared(logits, context, drafted)
        peak = float(row[best])
        if state is None and peak > -math.inf and self._pipeline.leaves_only_best(row, peak):
            return Candidates.certain(best)
        for pool in self._pipeline.pools(row, peak, state.allows if state else None):
            truncated = self._pipeline.truncated(pool)
            if truncated.settled:
                return _tempered(truncated, self.params.temperature)
        raise self._nothing_left(len(row), state)

    def explain(self, logits: NDArray[np.float32], context: Sequence[int]) -> ExplainedRow:
        """The same distribution, found from the whole row, and the stage that removed each other token.

        Raises DecodeError as `candidates` does.
        """
        row, best, state = self._prepared(logits, context, ())
        every = np.arange(len(row))
        allowed = state.allows(every) if state else np.ones(len(row), np.bool_)
        banned = self._penalties.banned(len(row))
        removed = {"grammar": every[~allowed], "logit-bias": banned[allowed[banned]]}
        (pool,) = self._pipeline.pools(row, float(row[best]), lambda ids: allowed[ids], whole=True)
        truncated = self._pipeline.truncated(pool, removed)
        if not truncated.settled:
            raise self._nothing_left(len(row), state)
        return ExplainedRow(_tempered(truncated, self.params.temperature), removed)

    def draw(self, candidates: Candidates, position: int) -> int:
        """The token x = argmax log p + g(seed, position, id): distributed exactly as p (the Gumbel-max trick).

        Ties go to the lowest id.
        """
        ids, log_p = candidates.ids, candidates.log_p
        if len(ids) == 1:
            return int(ids[0])
        if len(ids) > 1000:
            possible = log_p > log_p.max() - NOISE_RANGE
            ids, log_p = ids[possible], log_p[possible]
        return int(ids[(log_p + gumbel(self.seed, position, ids)).argmax()])

    def runner_up(self, logits: NDArray[np.float32], candidates: Candidates, token: int, position: int) -> int:
        """What would be drawn if a row [V] and its candidates did not have this token; the next best logit if they have
        nothing else."""
        others = candidates.ids != token
        if others.any():
            ids = candidates.ids[others]
            return int(ids[(candidates.log_p[others] + gumbel(self.seed, position, ids)).argmax()])
        rest = logits.copy()
        rest[token] = -math.inf
        return int(rest.argmax())

    def confidence(self, logits: NDArray[np.float32], candidates: Candidates, token: int) -> float:
        """How sure a row [V] and its candidates are of a token, in [0, 1]: a hint for when to stop drafting.

        This is the token's probability or, for a point mass, its share against the next best token alone.
        """
        if candidates.only is None:
            return candidates.probability(token)
        others = max(logits[:token].max(initial=-math.inf), logits[token + 1 :].max(initial=-math.inf))
        return 1 / (1 + math.exp(min(float(others) - float(logits[token]), 700.0)))

    def _prepared(
        self, logits: NDArray[np.float32], context: Sequence[int], drafted: Sequence[int]
    ) -> tuple[NDArray[np.float32], int, GrammarState | None]:
        """The row after bias and penalties, the id of its largest logit, and the place in the grammar.

        Raises DecodeError for a broken row.
        """
        row = self._penalties.applied(logits, context, drafted)
        state = self.constraint.after(context, drafted) if self.constraint else None
        best = int(row.argmax())
        peak = float(row[best])
        if math.isfinite(peak):
            return row, best, state
        nothing_banned = state is None and not len(self._penalties.banned(len(row)))
        if peak != -math.inf or nothing_banned:
            raise DecodeError(f"the model's largest logit is {peak}: its weights are broken; use another file")
        return row, best, state

    def _nothing_left(self, n_vocab: int, state: GrammarState | None) -> DecodeError:
        """Why no token is possible: the grammar allows none, the bias bans them, or the model rules them out."""
        banned = set(self._penalties.banned(n_vocab).tolist())
        if state is None:
            return DecodeError(f"logit_bias bans all that the model can say here ({_some(banned)}): lift a ban")
        every = np.arange(n_vocab)
        allowed = set(every[state.allows(every)].tolist())
        if not allowed:
            return DecodeError("the grammar allows none of this model's tokens here: let it allow more, or end")
        if allowed <= banned:
            return DecodeError(f"logit_bias bans all that the grammar allows here ({_some(allowed)}): lift a ban")
        return DecodeError(
            f"the model rules out all that the grammar allows here ({_some(allowed)}): let it allow more"
        )


def constraint_of(
    params: SamplingParams, vocabulary: GrammarVocabulary, held: HeldGrammar | None = None
) -> Constraint | None:
    """What constrains an answer under these parameters, None without a grammar.

    A grammar that the answer is `held` to takes the place of that of the parameters.

    Raises SettingError for a grammar that cannot be used and for a bias on a token that does not exist.
    """
    params.check_tokens(vocabulary.size)
    return (held or HeldGrammar(params.grammar)).constraint(vocabulary)


def _tempered(pool: Pool, temperature: float) -> Candidates:
    """The distribution on a pool that is not empty; tokens whose probability is too small for a number are left out."""
    if len(pool.ids) == 1:
        return Candidates(pool.ids, np.zeros(1))
    with np.errstate(over="ignore"):
        scaled = (pool.logits - pool.logits.max()) / temperature
    ids = pool.ids
    if scaled.min() == -math.inf:
        possible = scaled > -math.inf
        ids, scaled = ids[possible], scaled[possible]
    return Candidates(ids, scaled - math.log(float(np.exp(scaled).sum())))


def _some(tokens: Collection[int]) -> str:
    """The first few of some token ids, as text."""
    shown = ", ".join(map(str, sorted(tokens)[:5]))
    return f"token{'s' * (len(tokens) > 1)} {shown}{' and more' * (len(tokens) > 5)}"
