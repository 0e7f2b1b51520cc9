"""The shared randomness of the coupled rule: Gumbel noise from a counter-based hash.

The noise is a pure function of the turn's seed, the output position and the token id. The target and every drafter
therefore see the same value for the same token at the same position, whatever was decoded before and in which order.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

_MASK: Final = 2**64 - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB

_BLOCK: Final = 8192
"""This many values are computed at a time, which fit the processor's cache."""

NOISE_RANGE: Final = 42.0
"""All Gumbel values of `gumbel` lie in an interval that is shorter than this, since they come from 53 bits."""


def turn_seed(session_seed: int, turn: int, attempt: int) -> int:
    """The 64-bit seed of one attempt at one turn; equal arguments give equal seeds on every machine."""
    text = f"{session_seed}/{turn}/{attempt}".encode()
    return int.from_bytes(blake2b(text, digest_size=8, person=b"specchat-turn").digest(), "little")


def stream_seed(seed: int, stream: int, start: int) -> int:
    """The seed of another random stream of the same turn, for the round that starts at this output position.

    Rounds that start at different positions may draft the same position again, so each round has its own noise.
    """
    return _mix(_mix(seed ^ stream * _SECOND & _MASK) ^ (start * _FIRST & _MASK))


def uniform(seed: int, index: int) -> float:
    """A number in [0, 1) for one index of a stream."""
    return (_mix(_mix(seed) ^ (index * _GAMMA & _MASK)) >> 11) * 2.0**-53


def gumbel(seed: int, position: int, ids: ArrayLike) -> NDArray[np.float64]:
    """Independent Gumbel(0, 1) values for the token ids [n] at one output position; float64 [n], always finite.

    The hash is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) over a
    stream that the seed and the position select. The upper 53 bits of the hash make the uniform number.
    """
    stream = np.uint64(_mix(_mix(seed) ^ (position * _GAMMA & _MASK)))
    ids = np.asarray(ids)
    noise = np.empty(len(ids))
    for start in range(0, len(ids), _BLOCK):
        block = slice(start, start + _BLOCK)
        noise[block] = _gumbel(ids[block].astype(np.uint64) * np.uint64(_GAMMA) + stream)
    return noise


def _gumbel(state: NDArray[np.uint64]) -> NDArray[np.float64]:
    """The values for some counters, which are overwritten."""
    state ^= state >> np.uint64(30)
    state *= np.uint64(_FIRST)
    state ^= state >> np.uint64(27)
    state *= np.uint64(_SECOND)
    state ^= state >> np.uint64(31)
    uniform = (state >> np.uint64(11)) * 2.0**-53
    exponential = -np.log1p(-np.maximum(uniform, 2.0**-54))
    noise: NDArray[np.float64] = -np.log(exponential)
    return noise


def _mix(value: int) -> int:
    """SplitMix64's output function on one number."""
    value = value + _GAMMA & _MASK
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)
