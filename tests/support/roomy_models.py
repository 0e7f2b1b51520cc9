"""Models of several architectures, large enough for their memory to stand out from that of the process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

from support import memory_models
from support.memory_models import HEADS, write_memory_model
from support.tiny_models import byte_vocabulary, write_tiny_model

WIDTH, STATE, WINDOW = 256, 64, 512


def _of_kind(architecture: str, layers: int) -> Callable[[Path], Path]:
    def write(path: Path) -> Path:
        sizes = {"WIDTH": WIDTH, "HEAD": WIDTH // HEADS, "STATE": STATE, "WINDOW": WINDOW}
        with patch.multiple(memory_models, **sizes):
            return write_memory_model(path, architecture, layers=layers)

    return write


def _llama(path: Path) -> Path:
    tokens = [*byte_vocabulary(), *(f"word{number}" for number in range(20_000))]
    return write_tiny_model(path, layers=8, width=512, n_ctx=4096, vocabulary=tokens)


KINDS: dict[str, Callable[[Path], Path]] = {
    "llama": _llama,
    "gemma3": _of_kind("gemma3", 8),
    "mamba2": _of_kind("mamba2", 8),
    "jamba": _of_kind("jamba", 8),
    "lfm2": _of_kind("lfm2", 8),
    "qwen35": _of_kind("qwen35", 8),
}
"""Architecture to a function that writes a model of it."""
