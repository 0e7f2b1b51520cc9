"""How much memory a loaded pair takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes by what they are for; 0 where there is no draft model, None where llama.cpp does not tell.

    Weights count twice where they got a layout of their own beside the mapped file. A cache is what holds the tokens
    that a model has read, reserved for the whole context at load. `compute` is what both models' passes work in. All is
    known to a hundredth of a MiB for each buffer.
    """

    target_weights: int | None = None
    draft_weights: int | None = None
    target_cache: int | None = None
    draft_cache: int | None = None
    compute: int | None = None
