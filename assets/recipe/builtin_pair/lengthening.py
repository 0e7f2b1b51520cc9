"""The target's last lesson: to repeat and edit longer texts than before without a mistake.

Long copies rarely fail because the model cannot copy. They fail because it has never seen a text of several hundred
tokens, or because the last two or three tokens occur elsewhere in the text with another continuation. The lesson before
taught it to distinguish such places in random strings. Those strings and the mix continue beside the texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from builtin_pair import copying
from builtin_pair.drills import EVERY_TOKEN, Drills
from builtin_pair.matching import LONGEST, SHORTEST, few_tokens
from builtin_pair.mixture import DRILL_GROUP, ROW_LENGTHS, Mixture, drill_of_words, to_document
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.packing import Batch, Document, batches_by_length, drawn
from specchat_engine.training.trainer import Source

SHARES = {"long": 0.4, "strings": 0.1, "mix": 0.5}
"""Shares of a step's tokens: long texts, strings of random tokens, the mix of all kinds."""

SETTLING_SHARES = {"long": 0.25, "strings": 0.05, "mix": 0.7}
"""The same while the target settles. It relearns what the lessons have displaced."""


class LongTexts(Source):
    """A training source. A step depends only on the seed and its number."""

    def __init__(
        self,
        tokenizer: BytePairTokenizer,
        seed: int,
        step_tokens: int,
        batch_tokens: int,
        shares: Mapping[str, float] = SHARES,
    ) -> None:
        self._tokenizer = tokenizer
        self._drills = Drills(tokenizer)
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._shares = shares
        self._mixture = Mixture(tokenizer, seed + 7, round(step_tokens * shares["mix"]), batch_tokens)

    def batches(self, step: int, progress: float) -> Sequence[Batch]:
        """The batches of one step, of all three sorts."""
        random = Random(f"long {self._seed} {step}")
        chats = self._long_documents(random)
        documents = [
            *drawn(lambda: next(chats), round(self._step_tokens * self._shares["long"])),
            *drawn(lambda: self._string(random), round(self._step_tokens * self._shares["strings"])),
            *self._mixture.documents(step, ROW_LENGTHS[-1]),
        ]
        return batches_by_length(documents, ROW_LENGTHS, self._batch_tokens)

    def _long_documents(self, random: Random) -> Iterator[Document]:
        for chat in copying.long_chats(random):
            document = to_document(chat, self._tokenizer)
            if len(document.ids) <= ROW_LENGTHS[-1]:
                yield document

    def _string(self, random: Random) -> Document:
        """A string of few different tokens, a string of any tokens, or a drill of another skill."""
        sort = random.random()
        if sort < 0.7:
            return few_tokens(self._drills, random, LONGEST)
        if sort < 0.85:
            return self._drills.repeated(random.choices(EVERY_TOKEN, k=random.randint(SHORTEST, LONGEST)), DRILL_GROUP)
        return drill_of_words(self._drills, random, 1.0)
