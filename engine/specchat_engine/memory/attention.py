"""How attention is computed where nobody chose: by llama.cpp's flash attention, or with all scores at hand.

On x86 CPUs flash attention takes the rows of a pass one by one and converts every key and value from half precision for
each: in a chat of some thousand tokens that is most of a pass, and of a wide one even more. With its scores kept, a
pass multiplies matrices instead, and its logits depend less on how wide it is. docs/benchmarks.md has the figures.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass, replace

from specchat_engine.gguf import Header
from specchat_engine.load_options import LoadOptions

_CELLS = 256
"""llama.cpp makes memories in such steps."""

_FLOAT = 4
_PLAIN_TYPES = frozenset({"f32", "f16", "bf16"})
"""Values in other types need flash attention."""

_WANTED, _MOST = 128 * 2**20, 512 * 2**20
"""Scores take so many bytes at most where fewer tokens at a time help, and so many in any case."""

_FEWEST = 64
"""Prompts are read so many tokens at a time at least: on two cores that takes no longer than 512, fewer do."""


@dataclass(frozen=True, slots=True)
class Attention:
    """`flash` is one of options.FLASH_ATTENTION, as llama.cpp is told; `ubatch_size` tokens are computed at a time."""

    flash: str
    ubatch_size: int

    @classmethod
    def of(cls, options: LoadOptions, header: Header, n_ctx: int, *, on_cpu: bool) -> Attention:
        """For a context of `n_ctx` tokens of a model; `on_cpu`: no layer of it lies on a GPU.

        Scores are kept where nobody asked for flash attention, the CPU is an x86 and they fit: a float for each token
        of a pass, each head and each token of the context; prompts may be read fewer tokens at a time for that.
        """
        asked = cls(options.flash_attention, options.ubatch_size)
        types = {options.cache_type_k, options.cache_type_v}
        if asked.flash != "auto" or not (on_cpu and is_x86()) or types - _PLAIN_TYPES:
            return asked
        each = _FLOAT * max(max(header.heads, default=0), 1) * rounded(n_ctx)
        tokens = min(asked.ubatch_size, max(_WANTED // each, _FEWEST))
        return replace(asked, flash="off", ubatch_size=tokens) if tokens * each <= _MOST else asked


def rounded(n_ctx: int) -> int:
    """The tokens that a memory for `n_ctx` of them holds."""
    return -(-n_ctx // _CELLS) * _CELLS


def is_x86() -> bool:
    """Whether this processor is one on which keeping the scores was measured to be quicker."""
    return platform.machine().lower() in {"x86_64", "amd64"}
