"""The loss of a head: how far the rows of several drafted tokens are from its teacher's."""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn import functional

from specchat_engine.training.heads import Head
from specchat_engine.training.teacher import TaughtBatch
from specchat_engine.training.trainer import Scores

DRAFTED = 4
"""How many tokens are drafted from each place in training."""

_PLACES = 256

_LATER = 0.8
"""The weight of each further token relative to the one before."""


def head_objective(head: Head, batch: TaughtBatch, drafted: int = DRAFTED) -> Scores:
    """The divergence of the head's rows from the teacher's, the weights of the `drafted` tokens adding up to 1.

    `correct` says where the first drafted token would be the teacher's best.
    """
    taught, groups = batch.teacher_log_probabilities.flatten(0, 1), batch.groups.flatten()
    ids, weights = head.own_ids(batch.teacher_ids.flatten(0, 1)), [_LATER**step for step in range(drafted)]
    losses: list[Tensor] = []
    correct, counted = torch.empty(0, dtype=torch.bool), batch.wanted[:0]
    outputs = head.unrolled(batch.ids, batch.positions, batch.documents, batch.states, drafted)
    for step, (hidden, weight) in enumerate(zip(outputs, weights, strict=True)):
        begun, places = drafted_places(batch, head.first, step)
        logits = drafted_logits(head, hidden, begun).float()
        losses.append(weight / sum(weights) * divergence(logits, ids[places], taught[places]))
        if not step:
            correct, counted = logits.argmax(-1) == ids[places, 0], places
    return Scores(torch.stack(losses).sum(), correct, groups[counted])


def drafted_logits(head: Head, hidden: Tensor, begun: Tensor) -> Tensor:
    """Scores [n, V] at `begun` places of the outputs [rows, length, width].

    They are computed for a round number of places: torch keeps what it prepared for each size of a product on a CPU,
    some megabytes each.
    """
    places = functional.pad(begun, (0, -len(begun) % _PLACES))
    return head.logits(hidden.flatten(0, 1)[places])[: len(begun)]


def drafted_places(batch: TaughtBatch, first: int, step: int) -> tuple[Tensor, Tensor]:
    """Where drafts begin whose token number `step` has a loss, and the places of the teacher's rows for that token.

    Both index rows x length. A draft begins and ends in the same document, not before its token number `first`.
    """
    length = batch.ids.shape[1]
    wanted, documents, positions = batch.wanted, batch.documents.flatten(), batch.positions.flatten()
    begun = wanted - step
    inside = (begun >= 0) & (begun // length == wanted // length)
    inside &= (documents[begun] == documents[wanted]) & (positions[begun] >= first)
    return begun[inside], wanted[inside]


def divergence(logits: Tensor, ids: Tensor, taught: Tensor) -> Tensor:
    """The Kullback-Leibler divergence of rows of logits [n, V] from a teacher's, summed over the rows.

    `ids` and `taught`, both [n, kept], are the teacher's likeliest tokens and their log-probabilities. They count one
    by one, and all other tokens together as one. An id of -1 is a token that the rows do not have: it is left out, and
    the smallest divergence is that of the same shares among the others.
    """
    known = ids >= 0
    said = functional.log_softmax(logits, dim=-1).gather(1, ids.clamp(min=0)).masked_fill(~known, -math.inf)
    taught_rest, said_rest = _rest(taught), _rest(said)
    rest = taught_rest * (taught_rest.log() - said_rest.log())
    return (taught.exp() * (taught - said)).masked_fill(~known, 0.0).sum() + rest.sum()


def _rest(log_probabilities: Tensor) -> Tensor:
    return (1 - log_probabilities.exp().sum(-1)).clamp(min=1e-4)
