"""The target's third lesson: which of its facts a question is about.

The first words of a memorised answer identify it. A model trained on whole answers spends nearly all of its training on
the rest and picks wrong answers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

from builtin_pair import facts
from builtin_pair.chats import single
from builtin_pair.drills import Drills
from builtin_pair.mixture import ROW_LENGTHS, drill, drill_of_words, to_document
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.packing import Batch, Document, batches_by_length, drawn
from specchat_engine.training.trainer import Source

_COPIES = 0.12
_HARDNESS = 0.5
_ENOUGH = 0.993


class ChoiceLesson(Source):
    """A training source of questions with the first words of their answers, and some copying to keep that skill.

    It has finished when nearly all of those words are right.
    """

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._drills = Drills(tokenizer)
        self._smoothed = 0.0

    @property
    def finished(self) -> bool:
        """True once the facts are distinguished."""
        return self._smoothed > _ENOUGH

    def batches(self, step: int, progress: float) -> Sequence[Batch]:
        """The batches of one step. They depend on the seed and the step."""
        random = Random(f"choice {self._seed} {step}")
        questions = self._questions(random)

        def draw() -> Document:
            return drill_of_words(self._drills, random, _HARDNESS) if random.random() < _COPIES else next(questions)

        return batches_by_length(drawn(draw, self._step_tokens), ROW_LENGTHS[:2], self._batch_tokens)

    def observe(self, accuracy: dict[int, float]) -> None:
        """Updates the share of right words."""
        self._smoothed += 0.05 * (accuracy.get(1, 0.0) - self._smoothed)

    def state_dict(self) -> dict[str, Any]:
        """The share of right words so far."""
        return {"smoothed": self._smoothed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a saved state."""
        self._smoothed = state["smoothed"]

    def _questions(self, random: Random) -> Iterator[Document]:
        known = list(facts.load_facts())
        while True:
            random.shuffle(known)
            for fact in known:
                yield drill(to_document(single("facts", facts.ask(fact, random), fact.answer), self._tokenizer))
