"""The draft's training data: the target's stored distributions, and new chats."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from builtin_pair.mixture import ROW_LENGTHS, Mixture
from builtin_pair.template import END_ID
from specchat_engine.training.distill import TeachingStore, own_answers, teach
from specchat_engine.training.model import LlamaModel
from specchat_engine.training.packing import Batch, batches_by_length
from specchat_engine.training.trainer import Source

_OWN_SHARE = 0.2
_FRESH_SHARE = 0.34
_ANSWER_LIMIT = 160


def taught_step(target: LlamaModel, mixture: Mixture, step: int, batch_tokens: int) -> list[Batch]:
    """The chats of one step of the mix with the target's distributions. A fifth are answered by the target."""
    random = Random(f"own answers {step}")
    documents = mixture.documents(step, ROW_LENGTHS[-1])
    chosen = {index for index in range(len(documents)) if random.random() < _OWN_SHARE}
    prompts = [documents[index] for index in sorted(chosen)]
    said = own_answers(target, prompts, END_ID, _ANSWER_LIMIT, random.choice((0.4, 0.8)), step)
    kept = [document for index, document in enumerate(documents) if index not in chosen]
    batches = batches_by_length([*kept, *said], ROW_LENGTHS, batch_tokens)
    return [teach(target, batch) for batch in batches]


class TaughtSource(Source):
    """A training source: mostly stored steps, drawn repeatedly, and some new steps of the mix."""

    def __init__(self, store: TeachingStore, mixture: Mixture, seed: int) -> None:
        self._store = store
        self._mixture = mixture
        self._seed = seed

    def batches(self, step: int, progress: float) -> Sequence[Batch]:
        """One stored or one new step."""
        random = Random(f"draft {self._seed} {step}")
        if random.random() < _FRESH_SHARE:
            return batches_by_length(self._mixture.documents(step, ROW_LENGTHS[-1]), ROW_LENGTHS, 4096)
        return list(self._store.read(random.randrange(len(self._store))))
