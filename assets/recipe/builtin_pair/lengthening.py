"""The target's last lesson: whole texts, longer ones than before, repeated and edited without a slip.

What breaks a long copy off is seldom that the trick is unknown: a text of several hundred tokens was never seen, or its
next token stood behind the same two or three tokens elsewhere in it. So the strings of this lesson are long, and many
are made of few different tokens, where only a long look back tells the places apart. The mix goes on beside them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from builtin_pair import copying
from builtin_pair.drills import SKILLS, Drills, Level
from builtin_pair.mixture import DRILL_GROUP, ROW_LENGTHS, Mixture, drill_of_words, to_document
from builtin_pair.template import FIRST_PLAIN_ID, VOCABULARY_SIZE
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.packing import Batch, Document, batches_by_length, drawn
from specchat_engine.training.trainer import Endless

FIRST_SHARES, SHARES = {"long": 0.41, "strings": 0.14, "mix": 0.45}, {"long": 0.5, "strings": 0.05, "mix": 0.45}
"""Of a step's tokens: long texts, strings of random tokens, the mix of all kinds; strings are mastered soon."""

_FIRST = 0.2
"""The part of the budget that has the first shares."""

_LONGEST_STRING, _FEWEST_TOKENS = 300, 6


class LongTexts(Endless):
    """A training source; what a step holds depends on the seed and the step alone."""

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._drills = Drills(tokenizer)
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._mixture = Mixture(tokenizer, seed + 7, round(step_tokens * SHARES["mix"]), batch_tokens)

    def batches(self, step: int, progress: float) -> Sequence[Batch]:
        """One step's batches, of all three sorts."""
        random = Random(f"long {self._seed} {step}")
        shares = FIRST_SHARES if progress < _FIRST else SHARES
        chats = self._long_documents(random)
        documents = [
            *drawn(lambda: next(chats), round(self._step_tokens * shares["long"])),
            *drawn(lambda: self._string(random), round(self._step_tokens * shares["strings"])),
            *self._mixture.documents(step, ROW_LENGTHS[-1]),
        ]
        return batches_by_length(documents, ROW_LENGTHS, self._batch_tokens)

    def _long_documents(self, random: Random) -> Iterator[Document]:
        for chat in copying.long_chats(random):
            document = to_document(chat, self._tokenizer)
            if len(document.ids) <= ROW_LENGTHS[-1]:
                yield document

    def _string(self, random: Random) -> Document:
        """A string to repeat, or sometimes to edit; half of them are made of a few tokens only."""
        longest = round(_LONGEST_STRING ** random.uniform(0.6, 1.0))
        if random.random() < 0.2:
            return self._drills.document(
                random, Level(longest // 2, VOCABULARY_SIZE, 3), SKILLS.index("substitute"), DRILL_GROUP
            )
        if random.random() < 0.15:
            return drill_of_words(self._drills, random, 1.0)
        pool: Sequence[int] = range(FIRST_PLAIN_ID, VOCABULARY_SIZE)
        if random.random() < 0.5:
            pool = random.sample(pool, random.randint(_FEWEST_TOKENS, 60))
        return self._drills.repeated(random.choices(pool, k=longest), DRILL_GROUP)
