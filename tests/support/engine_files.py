"""Model files for the engine's tests: a target, drafts that fit it, and models that do not."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from support.tiny_models import byte_vocabulary, write_tiny_model


class EngineFiles(NamedTuple):
    """`short` has a context of 256 tokens, the target 1024; `stranger` and `bigger` have other vocabularies."""

    target: Path
    draft: Path
    short: Path
    stranger: Path
    bigger: Path


def write_engine_files(folder: Path) -> EngineFiles:
    """Writes all models. Their weights are random; the drafts sometimes agree with the target."""
    plain = byte_vocabulary()
    other = [*plain[:50], *reversed(plain[50:60]), *plain[60:]]
    longer = [*plain, *(f"extra{number}" for number in range(600))]
    return EngineFiles(
        target=write_tiny_model(folder / "target.gguf", seed=1, sharpness=0.15, n_ctx=1024),
        draft=write_tiny_model(folder / "draft.gguf", seed=2, like=1, layers=1, sharpness=0.15, n_ctx=1024),
        short=write_tiny_model(folder / "short.gguf", seed=2, like=1, layers=1, sharpness=0.15, n_ctx=256),
        stranger=write_tiny_model(folder / "stranger.gguf", seed=3, vocabulary=other),
        bigger=write_tiny_model(folder / "bigger.gguf", seed=3, vocabulary=longer),
    )
