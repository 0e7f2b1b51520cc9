"""A tiny target, a draft that fits it, and a model that does not, for tests that load real files."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from support.tiny_models import SPECIALS, byte_vocabulary, write_tiny_model


class TinyModels(NamedTuple):
    """Files with random weights. The vocabulary of `draft` fits the target, that of `stranger` does not."""

    target: Path
    draft: Path
    stranger: Path


def write_tiny_pair(folder: Path) -> TinyModels:
    """Writes models that load in milliseconds. The draft sometimes agrees with the target."""
    letters = byte_vocabulary()[len(SPECIALS) : -1]
    return TinyModels(
        target=write_tiny_model(folder / "target.gguf", seed=1, sharpness=0.1),
        draft=write_tiny_model(folder / "draft.gguf", seed=2, like=1, layers=1, sharpness=0.1),
        stranger=write_tiny_model(folder / "stranger.gguf", seed=3, vocabulary=[*SPECIALS, *letters, "zz"]),
    )
