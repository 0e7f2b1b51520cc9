"""The prompts that benchmarks and checks run on, by kind of text."""

from __future__ import annotations

import tomllib
from importlib import resources


def benchmark_prompts(short: bool = False) -> dict[str, tuple[str, ...]]:
    """Kind of text to its prompts, in a fixed order; with `short` none that pastes a long text."""
    text = (resources.files("specchat_assets") / "prompts" / "benchmark.toml").read_text("utf-8")
    kinds = tomllib.loads(text).items()
    return {kind: tuple((short and section.get("short")) or section["prompts"]) for kind, section in kinds}
