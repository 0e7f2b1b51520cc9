"""Sizes of llama-architecture models, and which sizes a model of so many parameters should have."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from specchat_engine.errors import SettingError

BLOCK = 256
"""Values of a row that the K-quants store together: a row of a multiple of this fits every type."""

MATRICES = {
    "attn_q": ("queries", "stream"),
    "attn_k": ("keys", "stream"),
    "attn_v": ("keys", "stream"),
    "attn_output": ("stream", "queries"),
    "ffn_gate": ("hidden", "stream"),
    "ffn_up": ("hidden", "stream"),
    "ffn_down": ("stream", "hidden"),
}
"""What the rows and the columns of a layer's matrices stand for."""

_WIDTH_PER_LAYER = 48
_HIDDEN_PER_WIDTH = 3.5
"""What common models of 0.3 to 3 billion parameters have, roughly."""

_SIZE_COUNTS = 40
"""An error of 1 % in the number of parameters weighs as much as proportions that are off by half."""

_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model with tied embeddings; `group` query heads share one key/value head."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int

    @property
    def group(self) -> int:
        """Query heads to one key/value head."""
        return self.heads // self.kv_heads

    @property
    def parameters(self) -> int:
        """All numbers of the model, the tied embedding counted once."""
        attention = 2 * self.width * self.head_width * (self.heads + self.kv_heads)
        layer = attention + 3 * self.width * self.feed_forward + 2 * self.width
        return self.vocabulary * self.width + self.layers * layer + self.width

    def length(self, axis: str) -> int:
        """How many rows or columns an axis of `MATRICES` has."""
        return {
            "stream": self.width,
            "hidden": self.feed_forward,
            "keys": self.kv_heads * self.head_width,
            "queries": self.heads * self.head_width,
        }[axis]

    def tensors(self) -> dict[str, tuple[int, ...]]:
        """The tensors by their names in a GGUF file, in its order: [rows, columns] or [length]."""
        sizes: dict[str, tuple[int, ...]] = {
            "token_embd.weight": (self.vocabulary, self.width),
            "output_norm.weight": (self.width,),
        }
        for layer in range(self.layers):
            block = f"blk.{layer}"
            sizes[f"{block}.attn_norm.weight"] = sizes[f"{block}.ffn_norm.weight"] = (self.width,)
            for kind, (rows, columns) in MATRICES.items():
                sizes[f"{block}.{kind}.weight"] = (self.length(rows), self.length(columns))
        return sizes


def choose_shape(small: Shape, parameters: int, vocabulary: int) -> Shape:
    """Sizes of about so many parameters, in usual proportions, that a model of the sizes `small` can be grown to.

    Every row is a multiple of `BLOCK`; query heads share key/value heads as they do in `small`. A vocabulary that is
    larger than `small`'s gets the free block of width that `Growth` wants for it.

    Raises:
        SettingError: fewer tokens than `small` has, or nothing within 10 % of `parameters` can hold the model.
    """
    if vocabulary < small.vocabulary:
        raise SettingError(
            f"a vocabulary of {vocabulary}: the model to be grown has {small.vocabulary} tokens, use at least that"
        )
    candidates = list(_candidates(small, parameters, vocabulary))
    fitting = [shape for shape in candidates if _size_error(shape, parameters) <= math.log1p(_TOLERANCE)]
    if not fitting:
        nearest = min(candidates, key=lambda shape: _size_error(shape, parameters))
        raise SettingError(
            f"no model of {parameters:,} parameters can do what this one of {small.parameters:,} does with "
            f"{vocabulary:,} tokens: the nearest has {nearest.parameters:,}, ask for so many or for more"
        )
    return min(fitting, key=lambda shape: _strangeness(shape, parameters))


def _candidates(small: Shape, parameters: int, vocabulary: int) -> Iterator[Shape]:
    step = math.lcm(BLOCK, small.head_width * small.group)
    need = max(small.width + BLOCK * (vocabulary > small.vocabulary), small.heads * small.head_width)
    first = _round_up(need, step)
    for width in range(first, max(first, math.isqrt(parameters)) + 1, step):
        heads = width // small.head_width
        least = _round_up(max(small.feed_forward, 2 * width), BLOCK)
        for feed_forward in range(least, max(least, 5 * width) + 1, BLOCK):
            shape = Shape(
                vocabulary=vocabulary,
                width=width,
                layers=small.layers,
                heads=heads,
                kv_heads=heads // small.group,
                head_width=small.head_width,
                feed_forward=feed_forward,
            )
            layer = replace(shape, layers=1).parameters - replace(shape, layers=0).parameters
            more = round((parameters - shape.parameters) / layer)
            yield replace(shape, layers=small.layers + max(0, more))
            if more < 0:
                break


def _size_error(shape: Shape, parameters: int) -> float:
    return abs(math.log(shape.parameters / parameters))


def _strangeness(shape: Shape, parameters: int) -> float:
    depth = math.log(shape.width / (shape.layers * _WIDTH_PER_LAYER))
    hidden = math.log(shape.feed_forward / (shape.width * _HIDDEN_PER_WIDTH))
    return _SIZE_COUNTS * _size_error(shape, parameters) + abs(depth) + abs(hidden)


def _round_up(value: int, multiple: int) -> int:
    return -(-value // multiple) * multiple
