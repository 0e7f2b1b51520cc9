"""What a training source hands out, as plain lists."""

from __future__ import annotations

from specchat_engine.training.trainer import Source


def rows(source: Source, step: int) -> list[list[int]]:
    """The token ids of a step in the middle of the budget, row by row."""
    return [row for batch in source.batches(step, 0.5) for row in batch.ids.tolist()]
