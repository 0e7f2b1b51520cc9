"""Chooses how attention is computed if the user did not: with llama.cpp's flash attention or with all scores kept.

On x86 CPUs flash attention takes the rows of a pass one by one and converts every key and value from half precision for
each row. In a chat of a few thousand tokens that is most of the time of a pass. With the scores kept, a pass multiplies
matrices instead, and its logits depend less on the number of its tokens. AMD's processors with AVX-512 convert so fast
that flash attention wins there in chats of up to a thousand tokens, and reads prompts a quarter faster.
docs/benchmarks.md has the figures.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace
from functools import cache

from specchat_engine.gguf import GgufHeader
from specchat_engine.load_options import PLAIN_CACHE_TYPES, LoadOptions
from specchat_engine.threads.processors import read_features, read_processors

_CELLS = 256
"""llama.cpp rounds the size of a cache up to a multiple of this."""

_FLOAT = 4
_WANTED_BYTES, _MOST_BYTES = 128 * 2**20, 512 * 2**20
"""Bytes for the scores: the first is the aim when tokens per step are reduced, the second the limit."""

_FEWEST_TOKENS, _MOST_TOKENS = 64, 128
"""The range of tokens of a prompt that are read at a time; docs/benchmarks.md has the times of 64 to 512."""


@dataclass(frozen=True, slots=True)
class Attention:
    """`flash` is one of load_options.FLASH_ATTENTION; `ubatch_size` tokens are computed at a time."""

    flash: str
    ubatch_size: int

    @classmethod
    def of(
        cls, options: LoadOptions, header: GgufHeader, n_ctx: int, *, on_cpu: bool, exact: bool = False
    ) -> Attention:
        """The choice for a context of `n_ctx` tokens; `on_cpu` says that no layer is on a GPU.

        Where passes have to be `exact`, scores are kept unless the cache needs flash attention: it splits the keys of a
        pass over one token between the threads, from 512 on, and those of wider passes not.

        Scores are kept if flash attention was not asked for, the CPU is faster with them and they fit. They take a
        float for each token of a pass, each head and each token of the context. Prompts are read in smaller steps for
        that.
        """
        requested = cls(options.flash_attention, options.ubatch_size)
        plain = options.cache_types <= PLAIN_CACHE_TYPES
        chooses = requested.flash == "auto" and plain and on_cpu and is_faster_with_scores()
        if not (chooses or (exact and plain)):
            return requested
        each = _FLOAT * max(max(header.heads, default=0), 1) * rounded(n_ctx)
        tokens = min(requested.ubatch_size, _MOST_TOKENS, max(_WANTED_BYTES // each, _FEWEST_TOKENS))
        fits = tokens * each <= _MOST_BYTES
        return replace(requested, flash="off", ubatch_size=tokens) if fits or exact else requested


def rounded(n_ctx: int) -> int:
    """The number of tokens that a cache for `n_ctx` tokens really holds."""
    return -(-n_ctx // _CELLS) * _CELLS


def is_faster_with_scores() -> bool:
    """Whether keeping the scores was measured to be faster: on x86 processors, but not on AMD's with AVX-512."""
    return platform.machine().lower() in {"x86_64", "amd64"} and not _is_amd_with_avx512()


@cache
def _is_amd_with_avx512() -> bool:
    return "AMD" in read_processors().name and "avx512f" in read_features()
