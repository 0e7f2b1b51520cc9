"""Grows a llama-architecture model into a larger one that computes the same function at the larger one's cost.

Nothing that is added reaches what was there, up to rounding:

- New layers, heads and feed-forward channels have columns of zeros in the matrices that write to the residual stream;
  all their other matrices are random, so that memory traffic, caches and quantisation are those of real weights.
- New dimensions of the stream are zero everywhere, so that the columns which read them can be random. RMSNorm over W'
  dimensions of which W are in use gives values larger by √(W'/W): its weights shrink by √(W/W'), its epsilon by W/W'.
- New tokens need logits far below all others, and a llama has no output bias. So each embedding row holds a small ε in
  two dimensions of their own, which nothing changes on the way and which the last norm makes +1/r and -1/r, where r is
  the root mean square of the stream. The rows of new tokens hold -u and +u there instead: a logit of -2u/r. In the
  output matrix, which is the embedding, the two of an old token cancel. They add 2ε² to the norms' sums of squares, and
  the epsilon gives up just that.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from specchat_engine.errors import SettingError
from specchat_engine.training.growth_shapes import BLOCK, MATRICES, Shape

Floats = NDArray[np.float32]

_FAR_BELOW = 2.0**14
"""u. At r = 30, which the built-in target has, new tokens lie 1000 below the others; float16 holds it all."""

_WRITES_TO_STREAM = ("attn_output", "ffn_down")


@dataclass(frozen=True, slots=True)
class Growth:
    """From the sizes `small` to the sizes `large`; `epsilon` is the small model's, `seed` decides what is random.

    Raises:
        SettingError: the large sizes cannot hold the small model.
    """

    small: Shape
    large: Shape
    epsilon: float
    seed: int

    def __post_init__(self) -> None:
        small, large = self.small, self.large
        if large.head_width != small.head_width:
            raise SettingError(f"heads of {large.head_width} channels: they have to stay at {small.head_width}")
        for name in ("vocabulary", "width", "layers", "kv_heads", "group", "feed_forward"):
            wanted, least = getattr(large, name), getattr(small, name)
            if wanted < least:
                raise SettingError(f"{name} is {wanted}: the model to be grown has {least}, use at least that")
        if large.heads % large.kv_heads:
            raise SettingError(f"heads is {large.heads}: use a multiple of the {large.kv_heads} key/value heads")
        for name, row in (
            ("width", large.width),
            ("feed_forward", large.feed_forward),
            ("heads times their width", large.heads * large.head_width),
        ):
            if row % BLOCK:
                raise SettingError(f"{name} is {row}: use a multiple of {BLOCK}, or no K-quant fits")
        if self.pads and large.width < small.width + BLOCK:
            raise SettingError(
                f"width is {large.width}: new tokens need a block of {BLOCK} beside the {small.width} in use, use at "
                f"least {-(-small.width // BLOCK) * BLOCK + BLOCK}"
            )
        if self.pads and not self.epsilon > 0:
            raise SettingError(f"the norms' epsilon is {self.epsilon}: without one no tokens can be added")
        if self.seed < 0:
            raise SettingError(f"seed is {self.seed}: use 0 or more")

    @property
    def pads(self) -> bool:
        """Whether there are new tokens."""
        return self.large.vocabulary > self.small.vocabulary

    @property
    def norm_epsilon(self) -> float:
        """The epsilon of the large model's norms."""
        paid = 2 * self._mark**2 if self.pads else 0
        return (self.epsilon * self.small.width - paid) / self.large.width

    def tensor(self, name: str, read: Callable[[str], Floats]) -> Floats:
        """One tensor of the large model; `read` gives the small model's by name."""
        kind = name.split(".")[-2]
        if kind == "token_embd":
            return self._embedding(name, read(name))
        if kind == "output_norm":
            return self._norm(read(name), marked=self.pads)
        layer = int(name.split(".")[1])
        like = layer * self.small.layers // self.large.layers
        old = read(name.replace(f"blk.{layer}.", f"blk.{like}."))
        if kind not in MATRICES:
            return self._norm(old, marked=False)
        rows, columns = MATRICES[kind]
        grown = np.zeros((self.large.length(rows), self.large.length(columns)), np.float32)
        if kind not in _WRITES_TO_STREAM:
            self._fill(grown, name, old)
        if like * self.large.layers > (layer - 1) * self.small.layers:
            grown[np.ix_(self._places(rows), self._places(columns))] = old
        return grown

    @property
    def _mark(self) -> float:
        """ε, a power of two, so that types without blocks hold it exactly; its two take at most half of the epsilon."""
        return float(2.0 ** math.floor(math.log2(math.sqrt(self.epsilon * self.small.width) / 2)))

    def _embedding(self, name: str, old: Floats) -> Floats:
        grown = np.zeros((self.large.vocabulary, self.large.width), np.float32)
        grown[: len(old), : self.small.width] = old
        if self.pads:
            block = self.large.width - BLOCK
            new = grown[len(old) :]
            self._fill(new, name, old)
            new[:, block] = -_FAR_BELOW
            new[:, block + 1] = _FAR_BELOW
            grown[: len(old), block : block + 2] = self._mark
        return grown

    def _norm(self, old: Floats, *, marked: bool) -> Floats:
        grown = np.zeros(self.large.width, np.float32)
        grown[: len(old)] = old
        if marked:
            block = self.large.width - BLOCK
            grown[block] = 1 / self._mark
            grown[block + 1] = -1 / self._mark
        return grown * np.float32(math.sqrt(self.small.width / self.large.width))

    def _fill(self, grown: Floats, name: str, old: Floats) -> None:
        """Random values with the spread of the old ones; each tensor has a stream of its own."""
        random = np.random.default_rng([self.seed, crc32(name.encode())])
        random.standard_normal(dtype=np.float32, out=grown)
        grown *= old.std()

    def _places(self, axis: str) -> NDArray[np.intp]:
        """Where the old entries of an axis lie in the large model; a query head stays with its key/value head."""
        if axis in ("stream", "hidden"):
            return np.arange(self.small.width if axis == "stream" else self.small.feed_forward)
        heads = np.arange(self.small.kv_heads if axis == "keys" else self.small.heads)
        if axis == "queries":
            heads = heads // self.small.group * self.large.group + heads % self.small.group
        return (heads[:, None] * self.small.head_width + np.arange(self.small.head_width)).ravel()
