"""Which allowed tokens decide a row, found without asking the grammar about the whole vocabulary.

The law: the grammar comes first. Whatever it excludes has probability 0, and all other stages work on what is left, so
that p is the model's distribution on the condition that the token is allowed, truncated and tempered as ever.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import DecodeError
from specchat_engine.grammar.constraint import GrammarState
from specchat_engine.sampling.params import SamplingParams
from specchat_engine.sampling.truncation import settled_length

Allows = Callable[[NDArray[np.int64]], NDArray[np.bool_]]
"""Says which of these ids may come."""

_DEPTHS = (3.0, 8.0, 16.0, math.inf)
"""How far below the peak, in nats, the grammar is asked: the next depth only where the last leaves the row open."""


def deciding(logits: NDArray[np.float32], peak: float, allows: Allows, params: SamplingParams) -> NDArray[np.int64]:
    """Ids [n], ascending, all allowed, on which the truncated distribution of this row [V] rests; maybe none.

    Truncating these alone gives exactly what masking everything else first would give. `peak` is the row's maximum.
    """
    found = np.empty(0, np.int64)
    ceiling = np.float32(math.inf)
    unseen = len(logits)
    for depth in _DEPTHS:
        floor = np.float32(peak - depth)
        fresh = np.flatnonzero((logits >= floor) & (logits < ceiling))
        unseen -= len(fresh)
        if len(fresh):
            found = np.concatenate((found, fresh[allows(fresh)]))
        if math.isinf(depth) or _settled(logits[found].astype(np.float64), float(floor), unseen, params):
            break
        ceiling = floor
    found.sort()
    return found[logits[found] > -math.inf]


def nothing_left(n_vocab: int, state: GrammarState | None, params: SamplingParams) -> DecodeError:
    """Why no token at all is possible at a place: what the grammar there allows, the bias bans or the model rules out.

    `state` is None where no grammar constrains the answer.
    """
    banned = {token for token, bias in params.logit_bias if bias == -math.inf}
    if state is None:
        return DecodeError(f"logit_bias bans all that the model can say here ({_some(banned)}): lift a ban")
    every = np.arange(n_vocab)
    allowed = set(every[state.allows(every)].tolist())
    if not allowed:
        return DecodeError("the grammar allows none of this model's tokens here: let it allow more, or end")
    if allowed <= banned:
        return DecodeError(f"logit_bias bans all that the grammar allows here ({_some(allowed)}): lift a ban")
    return DecodeError(f"the model rules out all that the grammar allows here ({_some(allowed)}): let it allow more")


def _some(tokens: Collection[int]) -> str:
    """The first few of some token ids, as text."""
    shown = ", ".join(map(str, sorted(tokens)[:5]))
    return f"token{'s' * (len(tokens) > 1)} {shown}{' and more' * (len(tokens) > 5)}"


def _settled(values: NDArray[np.float64], floor: float, unseen: int, params: SamplingParams) -> bool:
    """Whether these logits, which are all of the allowed ones from `floor` on, decide what survives truncation.

    `unseen` tokens lie below the floor. Every stage but typical-p keeps the best so and so many: what they keep is
    settled where it comes out the same whether the unseen ones weigh nothing or as much as they can.
    """
    wanted = params.top_k or math.inf
    count = len(values)
    if not unseen or count >= wanted:
        return True
    if not count or params.typical_p < 1:
        return False
    if params.temperature == 0:
        return True
    ranked = np.sort(values)[::-1]
    best = float(ranked[0])
    lowest = best + math.log(params.min_p) if params.min_p > 0 else -math.inf
    weights = np.exp(ranked - best).cumsum().tolist()
    length = settled_length(
        weights,
        params.top_p,
        seen=count,
        kept=int((ranked >= lowest).sum()),
        more=floor > lowest,
        open_mass=min(unseen, wanted - count) * math.exp(floor - best),
    )
    return length is not None
