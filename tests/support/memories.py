"""Shared by tests of rollbacks: how far each architecture can go back, and a check of what a cache really holds."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from specchat_engine.llama.context import LlamaContext
from specchat_engine.llama.rollback import SNAPSHOTS, UNBOUNDED
from support.memory_models import ARCHITECTURES

TOKENS = [40 + number * 7 % 200 for number in range(60)]
CLOSE = 2e-2
"""Other batch widths use other kernels, which differ by less than this. A token left in the cache makes a hundred times
the difference."""

REACH = {"gemma3": UNBOUNDED, "mamba2": 0, "jamba": 0, "lfm2": SNAPSHOTS, "qwen35": SNAPSHOTS}
RECURRENT = [name for name in ARCHITECTURES if REACH[name] < UNBOUNDED]
WITH_SNAPSHOTS = [name for name in ARCHITECTURES if REACH[name] == SNAPSHOTS]


class Make(Protocol):
    """Makes a context on a model of an architecture."""

    def __call__(self, name: str, max_rows: int = 13, n_ctx: int = 512) -> LlamaContext: ...


def check(context: LlamaContext) -> None:
    """Checks that the next logits equal those after a fresh read of the same tokens."""
    held = list(context.tokens)
    row = context.advance([99], 1)[0].copy()
    context.clear()
    np.testing.assert_allclose(row, context.advance([*held, 99], 1)[0], atol=CLOSE)
