"""A lesson in distinguishing similar places: strings of few different tokens to repeat and edit, beside the mix.

In a string of random tokens over the whole vocabulary, the last token alone shows how far a copy has come. In a text it
does not: commas, small words and pieces of words occur in many places, and only several tokens together determine the
next. Strings of a dozen different tokens require exactly that, at every position and in few tokens. Similar lines of
code require more: the model has to look back beyond everything that they share.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

from builtin_pair.drills import EVERY_TOKEN, SKILLS, Drills, Level, some
from builtin_pair.mixture import DRILL_GROUP, PHASES, ROW_LENGTHS, Mixture
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.packing import Batch, Document, batches_by_length, drawn
from specchat_engine.training.trainer import Source

STRINGS_SHARE = 0.7
"""The share of a step's tokens. The rest is the mix, so that it is not forgotten."""

_FEWEST, _MOST = 4, 200
SHORTEST, LONGEST = 30, 400
"""Tokens in a string."""

_EDITED = 0.25

_LONGEST_ECHO = 14


class MatchingLesson(Source):
    """A training source. A step depends only on the seed, its number and the progress."""

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._drills = Drills(tokenizer)
        self._seed = seed
        self._strings_tokens = round(step_tokens * STRINGS_SHARE)
        self._batch_tokens = batch_tokens
        self._mixture = Mixture(tokenizer, seed + 11, step_tokens - self._strings_tokens, batch_tokens)

    def batches(self, step: int, progress: float) -> Sequence[Batch]:
        """The batches of one step: strings, which get longer as the budget is spent, and chats."""
        random = Random(f"matching {self._seed} {step}")
        longest = LONGEST if progress > 0.3 else LONGEST // 2
        strings = drawn(lambda: few_tokens(self._drills, random, longest), self._strings_tokens)
        chats = self._mixture.documents(step, PHASES[1].longest)
        return batches_by_length([*strings, *chats], ROW_LENGTHS, self._batch_tokens)


def few_tokens(drills: Drills, random: Random, longest: int) -> Document:
    """A string of 30 to `longest` tokens, 4 to 200 of them different, to repeat or sometimes to edit.

    In a third of the strings the frequencies of tokens follow Zipf's law; in a third, stretches recur.
    """
    pool = random.sample(EVERY_TOKEN, _between(random, _FEWEST, _MOST))
    form = random.choice(("even", "uneven", "echoing"))
    if form == "uneven":
        pool = [token for rank, token in enumerate(pool, 1) for _ in range(max(1, len(pool) // rank))]
    level = Level(_between(random, SHORTEST, longest), pool, 3)
    if form == "echoing":
        return drills.repeated(echoing(random, level), DRILL_GROUP)
    if random.random() < _EDITED:
        return drills.document(random, level, SKILLS.index("substitute"), DRILL_GROUP)
    return drills.repeated(random.choices(pool, k=level.longest), DRILL_GROUP)


def echoing(random: Random, level: Level) -> list[int]:
    """A string in which stretches of up to 14 tokens recur, each time with a different continuation."""
    share = random.uniform(0.3, 0.8)
    text = some(random, level, 4, 8)
    while len(text) < level.longest:
        if random.random() < share:
            begins = random.randrange(len(text) - 2)
            text += text[begins : begins + random.randint(2, _LONGEST_ECHO)]
        text += some(random, level, 1, 3)
    return text[: level.longest]


def _between(random: Random, low: int, high: int) -> int:
    """A size from `low` to `high`, distributed evenly on a logarithmic scale."""
    return round(low * math.pow(high / low, random.random()))
