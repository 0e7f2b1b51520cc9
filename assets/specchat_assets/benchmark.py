"""The prompts that benchmarks and checks run on, by kind of text."""

from __future__ import annotations

import tomllib
from importlib import resources


def benchmark_prompts() -> dict[str, tuple[str, ...]]:
    """Kind of text to its prompts, in a fixed order."""
    text = (resources.files("specchat_assets") / "prompts" / "benchmark.toml").read_text("utf-8")
    return {kind: tuple(section["prompts"]) for kind, section in tomllib.loads(text).items()}
