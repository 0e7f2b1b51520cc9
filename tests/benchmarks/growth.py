"""Grows a llama-architecture model into a larger one that computes the same function at the larger model's cost.

Up to rounding, nothing that is added influences the original values:

- New layers, heads and feed-forward channels have columns of zeros in the matrices that write to the residual stream;
  all their other matrices are random, so that memory traffic, caches and quantisation are those of real weights.
- New dimensions of the stream are zero everywhere, so that the columns which read them can be random. RMSNorm over W'
  dimensions of which W are in use gives values larger by √(W'/W): its weights shrink by √(W/W'), its epsilon by W/W'.
- The random rows of a matrix are a block that repeats, so that a file of 20 GB is written as fast as the disk takes it.
- Experts all hold the original channels, and their weights add up to 1, whatever the random router chooses.
- New tokens need logits far below all others, and a llama has no output bias. So each embedding row holds a small ε in
  two dimensions of their own, which nothing changes on the way and which the last norm makes +1/r and -1/r, where r is
  the root mean square of the stream. The rows of new tokens hold -u and +u there instead: a logit of -2u/r. In the
  output matrix, which is the embedding, the two of an old token cancel. They add 2ε² to the norms' sums of squares, and
  the epsilon gives up just that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import SettingError

Floats = NDArray[np.float32]

_FAR_BELOW = 2.0**14
"""u. At r = 30, which the built-in target has, new tokens lie 1000 below the others; float16 holds it all."""


_BLOCK_ROWS = 128
"""At most this many rows are random; then they repeat."""


@dataclass(frozen=True, slots=True)
class GrownMatrix:
    """A matrix [rows, columns] in which the rows of `block` [n, columns] repeat, except that the rows `own` [m],
    ascending, are `values` [m, columns]. A stack of experts has `copies` of it."""

    rows: int
    block: Floats
    own: NDArray[np.intp]
    values: Floats
    copies: int = 1

    def stored(self, encode: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """All rows, one after the other, in an encoding of each row by itself."""
        block = encode(self.block)
        rows = np.resize(block, (self.rows, *block.shape[1:]))
        if len(self.own):
            rows[self.own] = encode(self.values)
        return rows if self.copies == 1 else np.tile(rows, (self.copies, 1))


@dataclass(frozen=True, slots=True)
class Growth:
    """From the sizes `small` to the sizes `large`; `epsilon` is the small model's, `seed` decides what is random.

    The large sizes have to hold the small model, as those of `choose_shape` do. With `noise` the result is a worse
    model: the original matrices get so much noise, relative to their spread.
    """

    small: Shape
    large: Shape
    epsilon: float
    seed: int
    noise: float = 0.0

    @property
    def pads(self) -> bool:
        """Whether there are new tokens."""
        return self.large.vocabulary > self.small.vocabulary

    @property
    def norm_epsilon(self) -> float:
        """The epsilon of the large model's norms."""
        paid = 2 * self._mark**2 if self.pads else 0
        return (self.epsilon * self.small.width - paid) / self.large.width

    def tensor(self, name: str, read: Callable[[str], Floats]) -> Floats | GrownMatrix:
        """One tensor of the large model; `read` gives the small model's by name."""
        kind = name.split(".")[-2]
        if kind == "token_embd":
            return self._embedding(name, read(name))
        if kind == "output_norm":
            return self._norm(read(name), marked=self.pads)
        if kind == ROUTER:
            return self._random(name, 1 / math.sqrt(self.large.width), self.large.experts, self.large.width)
        layer = int(name.split(".")[1])
        like = layer * self.small.layers // self.large.layers
        old = read(name.replace(f"blk.{layer}.", f"blk.{like}.").replace(EXPERTS, ""))
        if (kind := kind.replace(EXPERTS, "")) not in MATRICES:
            return self._norm(old, marked=False)
        rows, columns = MATRICES[kind]
        is_used = like * self.large.layers > (layer - 1) * self.small.layers
        grown = self._matrix(name, old, rows, (columns,), is_used=is_used)
        return replace(grown, copies=self.large.experts) if EXPERTS in name else grown

    def of_head(self, name: str, old: Floats) -> Floats | GrownMatrix:
        """One tensor of an EAGLE-3 head for the large model, from that of the small model's."""
        kind = name.split(".")[-2]
        if old.ndim == 1:
            return self._norm(old, marked=False)
        rows, columns = MATRICES.get(kind, ("stream", "stream"))
        return self._matrix(name, old, rows, (columns,) * JOINED.get(kind, 1), is_used=True)

    def layer(self, small: int) -> int:
        """The large model's layer with the same input as this one of the small model."""
        return next(
            layer for layer in range(self.large.layers) if layer * self.small.layers // self.large.layers == small
        )

    def _matrix(self, name: str, old: Floats, rows: str, columns: tuple[str, ...], *, is_used: bool) -> GrownMatrix:
        """A matrix that reads these axes side by side; only random values if the old one is not used."""
        lengths = [self.large.length(axis) for axis in columns]
        count, width = self.large.length(rows), sum(lengths)
        if rows == "stream":
            block = np.zeros((1, width), np.float32)
        else:
            block = self._random(name, float(old.std()), min(count, _BLOCK_ROWS), width)
        own = self._places(rows) if is_used else np.empty(0, np.intp)
        values = block[own % len(block)]
        if is_used:
            begins = np.cumsum([0, *lengths[:-1]])
            places = [self._places(axis) + begin for axis, begin in zip(columns, begins, strict=True)]
            values[:, np.concatenate(places)] = self._noisy(name, old)
        return GrownMatrix(count, block, own, values)

    @property
    def _mark(self) -> float:
        """ε, a power of two, so that types without blocks hold it exactly; its two take at most half of the epsilon."""
        return float(2.0 ** math.floor(math.log2(math.sqrt(self.epsilon * self.small.width) / 2)))

    def _embedding(self, name: str, old: Floats) -> GrownMatrix:
        width, mark = self.large.width, self.large.width - BLOCK
        values = np.zeros((len(old), width), np.float32)
        values[:, : self.small.width] = self._noisy(name, old)
        new = np.zeros((1, width), np.float32)
        if self.pads:
            values[:, mark : mark + 2] = self._mark
            new = self._random(name, float(old.std()), min(self.large.vocabulary, _BLOCK_ROWS), width)
            new[:, mark : mark + 2] = -_FAR_BELOW, _FAR_BELOW
        return GrownMatrix(self.large.vocabulary, new, np.arange(len(old)), values)

    def _norm(self, old: Floats, *, marked: bool) -> Floats:
        grown = np.zeros(self.large.width, np.float32)
        grown[: len(old)] = old
        if marked:
            block = self.large.width - BLOCK
            grown[block] = 1 / self._mark
            grown[block + 1] = -1 / self._mark
        return grown * np.float32(math.sqrt(self.small.width / self.large.width))

    def _random(self, name: str, spread: float, rows: int, columns: int) -> Floats:
        """Random values [rows, columns]; each tensor has a stream of its own."""
        random = np.random.default_rng([self.seed, crc32(name.encode())])
        return random.standard_normal((rows, columns), dtype=np.float32) * np.float32(spread)

    def _noisy(self, name: str, old: Floats) -> Floats:
        """An original matrix with the noise."""
        if not self.noise:
            return old
        return old + self._random(f"{name} noise", self.noise * float(old.std()), *old.shape)

    def _places(self, axis: str) -> NDArray[np.intp]:
        """Where the old entries of an axis lie in the large model; a query head stays with its key/value head."""
        if axis in ("stream", "hidden"):
            return np.arange(self.small.width if axis == "stream" else self.small.feed_forward)
        heads = np.arange(self.small.kv_heads if axis == "keys" else self.small.heads)
        if axis == "queries":
            heads = heads // self.small.group * self.large.group + heads % self.small.group
        return (heads[:, None] * self.small.head_width + np.arange(self.small.head_width)).ravel()


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

EXPERTS, ROUTER = "_exps", "ffn_gate_inp"
"""The end of the names of stacks of experts, and the matrix that chooses between them."""

JOINED = {"fc": 3, "attn_q": 2, "attn_k": 2, "attn_v": 2}
"""How many streams side by side the matrices of an EAGLE-3 head read."""

_WIDTH_PER_LAYER = 48
_HIDDEN_PER_WIDTH = 3.5
"""What common models of 0.3 to 3 billion parameters have, roughly."""

_SIZE_COUNTS = 40
"""An error of 1 % in the number of parameters weighs as much as proportions that are off by half."""

_TOLERANCE = 0.1


@dataclass(frozen=True, slots=True)
class Shape:
    """The sizes of a model with tied embeddings; `group` query heads share one key/value head.

    A mixture has feed-forward layers of `experts`, each with `feed_forward` channels, and a token uses `used` of them.
    """

    vocabulary: int
    width: int
    layers: int
    heads: int
    kv_heads: int
    head_width: int
    feed_forward: int
    experts: int = 0
    used: int = 0

    @property
    def group(self) -> int:
        """Query heads to one key/value head."""
        return self.heads // self.kv_heads

    @property
    def parameters(self) -> int:
        """All numbers of the model, the tied embedding counted once."""
        attention = 2 * self.width * self.head_width * (self.heads + self.kv_heads)
        feed_forward = max(self.experts, 1) * 3 * self.width * self.feed_forward + self.experts * self.width
        layer = attention + feed_forward + 2 * self.width
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
                size = self.length(rows), self.length(columns)
                if self.experts and kind.startswith("ffn"):
                    sizes[f"{block}.{kind}{EXPERTS}.weight"] = (self.experts, *size)
                else:
                    sizes[f"{block}.{kind}.weight"] = size
            if self.experts:
                sizes[f"{block}.{ROUTER}.weight"] = (self.experts, self.width)
        return sizes

    def mixture(self, experts: int, used: int, least: int) -> Shape:
        """A mixture of which a token uses about as many numbers as this model has.

        Raises:
            SettingError: if an expert would have fewer than `least` channels.
        """
        channels = _round_up(self.feed_forward // used, BLOCK)
        if channels < least:
            raise SettingError(f"{used} experts of {channels} channels: one needs {least}, ask for fewer or more size")
        return replace(self, feed_forward=channels, experts=experts, used=used)


def choose_shape(small: Shape, parameters: int, vocabulary: int) -> Shape:
    """Sizes with about this many parameters, in usual proportions, that a model with the sizes `small` can grow to.

    Every row is a multiple of `BLOCK`; query heads share key/value heads as in `small`. A vocabulary larger than
    `small`'s gets the free block of width that `Growth` needs for it.

    Raises:
        SettingError: for fewer tokens than `small` has, or if nothing within 10 % of `parameters` can hold the model.
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
