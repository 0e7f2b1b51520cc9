"""Heads that are computed here and not by llama.cpp: they read the target's last hidden state, after the final norm.

Medusa: Cai et al., arXiv 2401.10774. MLPSpeculator: Wertheimer et al., arXiv 2404.19124.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter_ns
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from specchat_engine.load_options import Buffers
from specchat_engine.prompt.encoding import common_prefix

Floats = NDArray[np.float32]


class States(Protocol):
    """The target's last hidden states of its latest tokens, those at positions `first` to `end`."""

    first: int
    end: int

    def rows(self, start: int, stop: int) -> Floats:
        """The states [stop - start, width] of the tokens at these positions."""


class Predictor(Protocol):
    """What predicts several tokens in turn, the first from one hidden state and the token that followed it."""

    buffers: Buffers

    @property
    def size_bytes(self) -> int:
        """The memory of its weights."""

    def begin(self, state: Floats, position: int) -> None:
        """Starts anew from the state [width] of the token before `position`."""

    def logits(self, token: int) -> Floats:
        """The logits [n] of the token after this one, for the first n ids of the vocabulary."""

    def close(self) -> None:
        """Frees what it holds."""


class StateHead(ABC):
    """A predictor with weights in this process."""

    buffers = Buffers(0, 0)

    def __init__(self, width: int, outputs: Sequence[Floats]) -> None:
        """The state has `width` numbers. `outputs` has a matrix [n, inner width] for each token that it can predict.

        A matrix may have rows for the first n ids of the vocabulary only: then it predicts no others.
        """
        self.width = width
        self.longest = len(outputs)
        self._outputs = outputs
        self._place = 0

    def begin(self, state: Floats, position: int = 0) -> None:
        """Starts anew from a state [width]."""
        self._enter(state)
        self._place = 0

    def close(self) -> None:
        """Forgets the state; Python frees the weights."""
        self._place = 0

    def logits(self, token: int) -> Floats:
        """The logits [n] of the token after this one."""
        index = min(self._place, self.longest - 1)
        self._place += 1
        logits: Floats = self._outputs[index] @ self._step(token, index)
        return logits

    @property
    def size_bytes(self) -> int:
        """The memory of its weights."""
        return sum({id(array): array.nbytes for array in (*self._outputs, *self._weights())}.values())

    @abstractmethod
    def _weights(self) -> Iterator[NDArray[Any]]:
        """All weights but the outputs. Some may be the same."""

    @abstractmethod
    def _enter(self, state: Floats) -> None:
        """Takes the state [width]."""

    @abstractmethod
    def _step(self, token: int, index: int) -> Floats:
        """What output matrix number `index` reads after this token."""


@dataclass(frozen=True, slots=True)
class ResidualBlock:
    """x + SiLU(W x + b), with W [width, width] and b [width]."""

    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        inner = self.weight @ x + self.bias
        output: Floats = x + inner / (1 + np.exp(-inner))
        return output


class Medusa(StateHead):
    """Independent heads: each predicts the token one place further than the one before, all from the state alone."""

    def __init__(self, width: int, blocks: Sequence[Sequence[ResidualBlock]], outputs: Sequence[Floats]) -> None:
        """`blocks` are those of each head, in their order."""
        super().__init__(width, outputs)
        self._blocks = blocks
        self._state = np.zeros(width, np.float32)

    def _weights(self) -> Iterator[NDArray[Any]]:
        return (array for blocks in self._blocks for block in blocks for array in (block.weight, block.bias))

    def _enter(self, state: Floats) -> None:
        self._state = state

    def _step(self, token: int, index: int) -> Floats:
        x = self._state
        for block in self._blocks[index]:
            x = block(x)
        return x


@dataclass(frozen=True, slots=True)
class Stage:
    """What an MLPSpeculator computes a token with: embeddings [V, inner] of any float type, the projection of the state
    [inner, width or inner], and the weight and the bias [inner] of the norm after it."""

    embedding: NDArray[Any]
    projection: Floats
    weight: Floats
    bias: Floats


class MlpSpeculator(StateHead):
    """A recurrent network: each token updates the state from which the next one is predicted."""

    def __init__(self, stages: Sequence[Stage], outputs: Sequence[Floats], *, scales_input: bool) -> None:
        """`scales_input` says whether the target's state is normed and halved in power first."""
        super().__init__(stages[0].projection.shape[1], outputs)
        self._stages = stages
        self._scales_input = scales_input
        self._state = np.zeros(self.width, np.float32)
        self._embedding_weight = embedding_weight(len(stages), len(stages[0].bias))

    def _weights(self) -> Iterator[NDArray[Any]]:
        for stage in self._stages:
            yield from (stage.embedding, stage.projection, stage.weight, stage.bias)

    def _enter(self, state: Floats) -> None:
        self._state = normed(state) / np.float32(math.sqrt(2)) if self._scales_input else state

    def _step(self, token: int, index: int) -> Floats:
        stage = self._stages[index]
        mixed = stage.projection @ self._state + self._embedding_weight * stage.embedding[token].astype(np.float32)
        self._state = gelu(stage.weight * normed(mixed) + stage.bias)
        return self._state


def embedding_weight(steps: int, inner: int) -> np.float32:
    """How much a token counts beside the state, whose share decays to one half of its power over all steps."""
    state_weight = 0.5 ** (0.5 / steps)
    return np.float32(math.sqrt((1 - state_weight**2) * inner / 2) / state_weight)


def normed(x: Floats) -> Floats:
    """x divided by its root mean square."""
    scaled: Floats = x / np.sqrt(np.mean(x * x) + np.float32(1e-6))
    return scaled


def gelu(x: Floats) -> Floats:
    """x Φ(x), with Φ to seven digits. Source: Abramowitz and Stegun, formula 7.1.26."""
    z = np.abs(x) * np.float32(math.sqrt(0.5))
    t = 1 / (1 + np.float32(0.3275911) * z)
    series = np.polyval((1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592, 0.0), t)
    erf = np.copysign(1 - series * np.exp(-z * z), x)
    activated: Floats = (0.5 * x * (1 + erf)).astype(np.float32)
    return activated


class StateHeadModel:
    """A head as a model for drafting: the first token after those that the target has read starts from its state."""

    def __init__(self, head: Predictor, states: States, *, capacity: int, n_vocab: int) -> None:
        self.tokens: list[int] = []
        self.busy_ns = self.rollback_ns = 0
        self.user: object = None
        self.threads = 1
        self.max_rows = 1
        self.capacity = capacity
        self.goes_back_freely = False
        self._head = head
        self._states = states
        self._n_vocab = n_vocab

    @property
    def length(self) -> int:
        """How many tokens it has been given."""
        return len(self.tokens)

    @property
    def size_bytes(self) -> int:
        """The memory of its weights."""
        return self._head.size_bytes

    @property
    def buffers(self) -> Buffers:
        """The memory beside its weights."""
        return self._head.buffers

    def has_state(self, tokens: Sequence[int]) -> bool:
        """Whether the state is there from which to draft after these tokens, of which the target has not read the
        last. It is not while the target has only read a prompt."""
        return self._states.first < self._states.end == len(tokens) - 1

    def advance(self, tokens: Sequence[int], rows: int) -> Floats:
        """Takes tokens; logits [rows, V] after the last one, if `rows` is 1."""
        began = perf_counter_ns()
        self.tokens += tokens
        padded = np.full((rows, self._n_vocab), -np.inf, np.float32)
        if rows:
            end = self._states.end
            if end == self.length - 1 and self._states.first < end:
                self._head.begin(self._states.rows(end - 1, end)[0], end)
            logits = self._head.logits(self.tokens[-1])
            padded[0, : len(logits)] = logits
        self.busy_ns += perf_counter_ns() - began
        return padded

    def checkpoint(self) -> None:
        """Nothing: it goes back freely."""

    def keep(self, tokens: Sequence[int]) -> None:
        """Keeps the longest common prefix with these tokens."""
        self.rewind(common_prefix(self.tokens, tokens))

    def read(self, tokens: Sequence[int], cancelled: Callable[[], bool]) -> int:
        """Takes exactly these tokens; returns how many it had."""
        known = common_prefix(self.tokens, tokens)
        self.tokens = [*tokens]
        return known

    def rewind(self, length: int) -> None:
        """Drops all but the first `length` tokens."""
        del self.tokens[length:]

    def clear(self) -> None:
        """Forgets everything."""
        self.tokens.clear()

    def close(self) -> None:
        """Frees the head. Close it before its target."""
        self._head.close()
        self.clear()
