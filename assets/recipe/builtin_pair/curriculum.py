"""Random strings to copy, from easy to hard. They teach a model to copy before it has seen a word.

A small model that starts with long strings over the whole vocabulary learns nothing for a million tokens. On short
strings of few ids it soon learns to copy; then strings get longer and use more ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from builtin_pair.chats import END_ID, FIRST_PLAIN_ID, START_ID, VOCABULARY_SIZE
from specchat_engine.training.packing import PackedBatch, TokenDocument, batches_by_length, drawn
from specchat_engine.training.trainer import BatchSource

_ROW_LENGTHS = (128, 256)
_PASSED = 0.9


@dataclass(frozen=True, slots=True)
class Level:
    """Strings of `shortest` to `longest` tokens over the ids below `ids`."""

    shortest: int
    longest: int
    ids: int


LEVELS = (
    Level(4, 12, 300),
    Level(4, 20, 1000),
    Level(4, 32, VOCABULARY_SIZE),
    Level(4, 64, VOCABULARY_SIZE),
)


def copy_document(random: Random, level: Level) -> TokenDocument:
    """A string, followed by its copy, which is learned."""
    pool = range(FIRST_PLAIN_ID, level.ids)
    text = random.choices(pool, k=random.randint(level.shortest, level.longest))
    ids = [START_ID, *text, END_ID, START_ID, *text, END_ID]
    learned = [False] * (len(text) + 3) + [True] * (len(text) + 1)
    return TokenDocument(ids, learned)


class CopyCurriculum(BatchSource):
    """A training source that goes up a level when nine in ten tokens of the level are copied correctly."""

    def __init__(self, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._level = 0
        self._smoothed = 0.0

    @property
    def finished(self) -> bool:
        """True once the last level has been passed."""
        return self._level >= len(LEVELS)

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step at the current level, a fifth of them from lower levels."""
        random = Random(f"copy {self._seed} {step}")

        def draw() -> TokenDocument:
            below = self._level > 0 and random.random() < 0.2
            return copy_document(random, LEVELS[random.randrange(self._level)] if below else LEVELS[self._level])

        return batches_by_length(drawn(draw, self._step_tokens), _ROW_LENGTHS, self._batch_tokens)

    def observe(self, accuracy: dict[int, float]) -> None:
        """Updates the share of correctly copied tokens and goes up when it is high enough."""
        self._smoothed += 0.2 * (accuracy.get(0, 0.0) - self._smoothed)
        if self._smoothed > _PASSED:
            self._level += 1
            self._smoothed = 0.5

    def state_dict(self) -> dict[str, Any]:
        """The level and the share of correctly copied tokens."""
        return {"level": self._level, "smoothed": self._smoothed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a saved state."""
        self._level = state["level"]
        self._smoothed = state["smoothed"]
