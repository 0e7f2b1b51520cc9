"""The prompts for benchmarks and checks, by kind of text."""

from __future__ import annotations

import tomllib
from importlib import resources


def benchmark_prompts(short: bool = False) -> dict[str, tuple[str, ...]]:
    """The prompts of each kind of text, in a fixed order. `short` leaves out prompts with a long pasted text."""
    text = (resources.files("specchat_assets") / "prompts" / "benchmark.toml").read_text("utf-8")
    kinds = tomllib.loads(text).items()
    return {kind: tuple((short and section.get("short")) or section["prompts"]) for kind, section in kinds}
