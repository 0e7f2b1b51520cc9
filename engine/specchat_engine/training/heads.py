"""Heads in torch, which read a token together with the target's hidden state of the token before it, and their loss.

EAGLE-3: Li et al., arXiv 2503.01840. Multi-token prediction: DeepSeek-AI, arXiv 2412.19437, section 2.2. The layouts
are those of llama.cpp's `eagle3` and of the `nextn` layers of its `mimo2`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional

from specchat_engine.training.model import FeedForward, GroupedQueryAttention, ModelConfig, RMSNorm
from specchat_engine.training.teacher import TaughtBatch
from specchat_engine.training.trainer import Scores


class TrainableHead(nn.Module, ABC):
    """What drafts from the target's hidden states."""

    first = 0
    """The first token of a text from which it drafts."""

    vocabulary: Tensor | None
    """The target's ids of the tokens that it drafts, ascending; None for all."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("vocabulary", None, persistent=False)

    def own_ids(self, ids: Tensor) -> Tensor:
        """The rows of its scores for ids of the target, -1 for tokens that it does not draft."""
        if self.vocabulary is None:
            return ids
        rows = torch.searchsorted(self.vocabulary, ids.contiguous()).clamp(max=len(self.vocabulary) - 1)
        return torch.where(self.vocabulary[rows] == ids, rows, -1)

    @abstractmethod
    def unrolled(
        self, ids: Tensor, positions: Tensor, documents: Tensor, states: Tensor, steps: int
    ) -> Iterator[Tensor]:
        """The outputs [batch, length, width] of each step.

        In step 0, place t reads token t with the target's state of token t - 1. In step s it reads token t + s with
        what step s - 1 left at place t.

        Args:
            ids: token ids [batch, length].
            positions: the place of each token in its own document [batch, length].
            documents: a number for each document of a row, 0 for padding [batch, length].
            states: the target's states [batch, length, their width].
            steps: how many tokens are drafted from each place.
        """

    @abstractmethod
    def logits(self, hidden: Tensor) -> Tensor:
        """Scores [..., vocab_size] from the outputs [..., width]."""


class LayerHead(TrainableHead):
    """One layer that predicts token t + 2 from token t + 1 and the state of token t, with the target's embeddings.

    Its output is the state from which it goes on alone: `unrolled` reads its own output in the place of the target's
    states, as it does while it drafts. That is the training-time test of EAGLE-3.
    """

    embedding: Tensor
    output: Tensor

    def __init__(self, config: ModelConfig, embedding: Tensor, output: Tensor, inputs: int) -> None:
        """`embedding` and `output` [vocab_size, width] are the target's and stay as they are.

        `config` has the sizes of the layer. Attention reads `inputs` numbers for each token.
        """
        super().__init__()
        self.config = config
        self.attention = GroupedQueryAttention(config, 0, inputs)
        self.feed_forward_norm = RMSNorm(config.width, config.norm_eps)
        self.feed_forward = FeedForward(config)
        self.norm = RMSNorm(config.width, config.norm_eps)
        self.register_buffer("embedding", embedding, persistent=False)
        self.register_buffer("output", output, persistent=False)

    @abstractmethod
    def own_width(self, states: Tensor) -> Tensor:
        """The target's states [..., their width] as this head's own [..., width]."""

    @abstractmethod
    def enter(self, embedded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The residual stream [..., width] and what attention reads [..., inputs], from a token and a state."""

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores [..., vocab_size] after the outputs [..., width] of the layer."""
        return functional.linear(self.norm(hidden), self.output)

    def unrolled(
        self, ids: Tensor, positions: Tensor, documents: Tensor, states: Tensor, steps: int
    ) -> Iterator[Tensor]:
        """The outputs [batch, length, width] of each step; see `TrainableHead`.

        Step s reads the output of the step before; its attention sees the target's states up to place t, and then only
        what it drafted itself from there.
        """
        length = ids.shape[1]
        causal = torch.ones(length, length, dtype=torch.bool, device=ids.device).tril()
        seen = (documents[:, :, None] == documents[:, None, :]) & causal & (positions >= self.first)[:, None, :]
        seen |= torch.eye(length, dtype=torch.bool, device=ids.device)
        state = states_before(self.own_width(states), positions)
        drafted: list[tuple[Tensor, Tensor]] = []
        keys = values = state
        for step in range(steps):
            embedded = functional.embedding(tokens_ahead(ids, step), self.embedding)
            residual, read = self.enter(embedded, state)
            query, key, value = self.attention.project(read, self.config.rotary(positions + step))
            if step:
                drafted.append((key, value))
            else:
                keys, values = key, value
            mixed = attend_drafted(query, keys, values, drafted, seen[:, None])
            x = residual + self.attention.output(mixed.transpose(1, 2).flatten(2))
            state = x + self.feed_forward(self.feed_forward_norm(x))
            yield state

    def draft_only(self, vocabulary: Tensor) -> None:
        """Drafts these ids of the target alone, ascending; with few of them most of the work on scores is saved."""
        self.vocabulary = vocabulary.to(self.output.device)
        self.output = self.output[self.vocabulary]

    def initialise(self, seed: int) -> None:
        """Small random weights."""
        generator = torch.Generator().manual_seed(seed)
        for name, weight in self.named_parameters():
            if weight.dim() == 2:
                scale = 0.25 if name.endswith(("output.weight", "down.weight")) else 0.5
                nn.init.normal_(weight, std=scale / math.sqrt(weight.shape[1]), generator=generator)


def states_before(states: Tensor, positions: Tensor) -> Tensor:
    """The state of the token before each [batch, length, width], zeros for the first of a document."""
    return functional.pad(states, (0, 0, 1, 0))[:, :-1] * (positions > 0)[..., None]


def tokens_ahead(ids: Tensor, step: int) -> Tensor:
    """The token `step` places after each [batch, length], 0 after the end."""
    return functional.pad(ids, (0, step))[:, step:]


def attend_drafted(
    query: Tensor, keys: Tensor, values: Tensor, drafted: list[tuple[Tensor, Tensor]], seen: Tensor
) -> Tensor:
    """Grouped-query attention [batch, heads, length, head_width] to earlier positions and to drafts at its own.

    Args:
        query: [batch, heads, length, head_width].
        keys: [batch, kv_heads, length, head_width] of the earlier positions; `values` likewise.
        drafted: keys and values of the same shape; position t sees those at t only.
        seen: [batch, 1, length, length], true where a position sees an earlier one.
    """
    batch, heads, length, width = query.shape
    kv_heads = keys.shape[1]
    grouped = (query * width**-0.5).view(batch, kv_heads, -1, length, width)
    scores = (grouped @ keys[:, :, None].transpose(-1, -2)).masked_fill(~seen[:, :, None], -1e4)
    own = [(grouped * key[:, :, None]).sum(-1, keepdim=True) for key, _ in drafted]
    weights = torch.cat((scores, *own), dim=-1).float().softmax(-1).to(values.dtype)
    mixed = weights[..., :length] @ values[:, :, None]
    for step, (_, value) in enumerate(drafted):
        mixed = mixed + weights[..., length + step, None] * value[:, :, None]
    return mixed.reshape(batch, heads, length, width)


class EagleHead(LayerHead):
    """EAGLE-3: the inputs of three of the target's layers, fused; attention reads token and state side by side."""

    first = 1
    scale: Tensor

    def __init__(
        self, config: ModelConfig, embedding: Tensor, output: Tensor, target_width: int, seed: int = 0
    ) -> None:
        super().__init__(config, embedding, output, 2 * config.width)
        self.fuse = nn.Linear(3 * target_width, config.width, bias=False)
        self.register_buffer("scale", torch.ones(3 * target_width))
        self.token_norm = RMSNorm(config.width, config.norm_eps)
        self.state_norm = RMSNorm(config.width, config.norm_eps)
        self.initialise(seed)

    def own_width(self, states: Tensor) -> Tensor:
        """Three layers' states [..., 3 · target_width] to [..., width]."""
        fused: Tensor = self.fuse(states * self.scale)
        return fused

    def adapt(self, sizes: Tensor) -> None:
        """Has numbers of states that are usually of these `sizes` [3 · target_width] count alike in learning.

        A few are a hundred times as large as most, and those of late layers ten times as large as those of early ones.
        """
        self.scale = (1 / sizes.clamp(min=1e-3)).to(self.scale)

    @property
    def fused_by(self) -> Tensor:
        """The matrix [width, 3 · target_width] for states as they are."""
        return self.fuse.weight * self.scale

    def enter(self, embedded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """The state itself, and both after a norm."""
        return state, torch.cat((self.token_norm(embedded), self.state_norm(state)), dim=-1)


class MtpHead(LayerHead):
    """Multi-token prediction: the output of the target's last layer, joined with the token by one matrix."""

    def __init__(self, config: ModelConfig, embedding: Tensor, output: Tensor, seed: int = 0) -> None:
        super().__init__(config, embedding, output, config.width)
        self.token_norm = RMSNorm(config.width, config.norm_eps)
        self.state_norm = RMSNorm(config.width, config.norm_eps)
        self.join = nn.Linear(2 * config.width, config.width, bias=False)
        self.attention_norm = RMSNorm(config.width, config.norm_eps)
        self.initialise(seed)

    def own_width(self, states: Tensor) -> Tensor:
        """The states as they are."""
        return states

    def enter(self, embedded: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Token and state, joined; attention reads that after a norm."""
        joined = self.join(torch.cat((self.token_norm(embedded), self.state_norm(state)), dim=-1))
        return joined, self.attention_norm(joined)


DRAFTED = 4
"""How many tokens are drafted from each place in training."""

_PLACES = 256

_LATER = 0.8
"""The weight of each further token relative to the one before."""


def head_objective(head: TrainableHead, batch: TaughtBatch, drafted: int = DRAFTED) -> Scores:
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


def drafted_logits(head: TrainableHead, hidden: Tensor, begun: Tensor) -> Tensor:
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
    predicted = functional.log_softmax(logits, dim=-1).gather(1, ids.clamp(min=0)).masked_fill(~known, -math.inf)
    taught_rest, predicted_rest = _rest(taught), _rest(predicted)
    rest = taught_rest * (taught_rest.log() - predicted_rest.log())
    return (taught.exp() * (taught - predicted)).masked_fill(~known, 0.0).sum() + rest.sum()


def _rest(log_probabilities: Tensor) -> Tensor:
    return (1 - log_probabilities.exp().sum(-1)).clamp(min=1e-4)
