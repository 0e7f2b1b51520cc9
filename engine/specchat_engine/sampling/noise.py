"""The shared randomness of the coupled rule: Gumbel noise from a counter-based hash.

The noise is a pure function of (turn seed, output position, token id), so that the target and every drafter see the
same value for the same token at the same place, whatever was decoded before or in which order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Final

import numpy as np
from numpy.typing import NDArray

_MASK: Final = 2**64 - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_FIRST: Final = 0xBF58476D1CE4E5B9
_SECOND: Final = 0x94D049BB133111EB
_GAMMA_U64: Final = np.uint64(_GAMMA)
_FIRST_U64: Final = np.uint64(_FIRST)
_SECOND_U64: Final = np.uint64(_SECOND)
_BLOCK: Final = 3
_LAST: Final = (1 << _BLOCK) - 1
"""Positions are mixed eight at a time: a rule with noise of its own for each round needs no more of them."""

_SHIFTS: Final = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))


def turn_seed(session_seed: int, turn: int, attempt: int) -> int:
    """The 64-bit seed of one attempt at one turn; equal arguments give equal seeds on every machine."""
    text = f"{session_seed}/{turn}/{attempt}".encode()
    return int.from_bytes(blake2b(text, digest_size=8, person=b"specchat-turn").digest(), "little")


def stream_seed(seed: int, stream: int, start: int) -> int:
    """The seed of one of a turn's other streams, for the round that starts at this output position.

    A position can be drafted more than once, by rounds that start at different places: each has noise of its own.
    """
    return _mix(_mix(seed ^ stream * _SECOND & _MASK) ^ (start * _FIRST & _MASK))


def uniform(seed: int, place: int) -> float:
    """A number in [0, 1) for one place of a stream."""
    return (_mix(_mix(seed) ^ (place * _GAMMA & _MASK)) >> 11) * 2.0**-53


def gumbel(seed: int, position: int, ids: NDArray[np.int64]) -> NDArray[np.float64]:
    """Independent Gumbel(0, 1) values for the token ids [n] at one output position; float64 [n], always finite.

    The hash is SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014) over a
    stream that the seed and the position choose; its upper 53 bits make the uniform number.
    """
    stream = np.uint64(_streams(seed, position >> _BLOCK)[position & _LAST])
    state = ids.astype(np.uint64)
    state *= _GAMMA_U64
    state += stream
    shift_a, shift_b, shift_c, to_53_bits = _SHIFTS
    state ^= state >> shift_a
    state *= _FIRST_U64
    state ^= state >> shift_b
    state *= _SECOND_U64
    state ^= state >> shift_c
    uniform = (state >> to_53_bits) * 2.0**-53
    exponential = -np.log1p(-np.maximum(uniform, 2.0**-54))
    noise: NDArray[np.float64] = -np.log(exponential)
    return noise


def gumbel_each(seed: int, position: int, ids: Iterable[int]) -> list[float]:
    """The same values one by one, for few ids; the last bit of a logarithm may differ from that of the arrays."""
    return [best_noisy(seed, position, {token: 0.0}, 1.0)[1] for token in ids]


def best_noisy(seed: int, position: int, logits: Mapping[int, float], temperature: float) -> tuple[int, float]:
    """Of few tokens the one with the largest logit / temperature + noise, and that value; ties go to the lowest id.

    All in one loop: this runs behind a pass over the weights, where every function that is called costs microseconds.
    """
    stream = _streams(seed, position >> _BLOCK)[position & _LAST]
    log, log1p = math.log, math.log1p
    best, found = -math.inf, -1
    for token, logit in logits.items():
        state = token * _GAMMA + stream & _MASK
        state = (state ^ state >> 30) * _FIRST & _MASK
        state = (state ^ state >> 27) * _SECOND & _MASK
        uniform = ((state ^ state >> 31) >> 11) * 2.0**-53
        value = logit / temperature - log(-log1p(-uniform if uniform else -(2.0**-54)))
        if value > best or (value == best and token < found):
            best, found = value, token
    return found, best


@lru_cache(maxsize=64)
def _streams(seed: int, block: int) -> list[int]:
    """What chooses the noise of each position of a block of them."""
    mixed, first = _mix(seed), block << _BLOCK
    return [_mix(mixed ^ (position * _GAMMA & _MASK)) for position in range(first, first + _LAST + 1)]


def _mix(value: int) -> int:
    """SplitMix64's output function on one number."""
    return _finish(value + _GAMMA & _MASK)


def _finish(value: int) -> int:
    value = ((value ^ (value >> 30)) * _FIRST) & _MASK
    value = ((value ^ (value >> 27)) * _SECOND) & _MASK
    return value ^ (value >> 31)
