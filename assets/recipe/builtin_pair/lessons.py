"""The lessons of the target after copying and skills, and the training data of the draft."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any, Protocol

from builtin_pair import copying, facts
from builtin_pair.chats import END_ID, single
from builtin_pair.distillation import TeachingBatch, TeachingStore, own_answers, teach
from builtin_pair.drills import EVERY_TOKEN, SKILLS, Drills, Level, some
from builtin_pair.mixture import DRILL_GROUP, PHASES, ROW_LENGTHS, Mixture, drill, drill_of_words, to_document
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.model import TorchLlama
from specchat_engine.training.packing import PackedBatch, TokenDocument, batches_by_length, drawn
from specchat_engine.training.trainer import BatchSource

_COPIES = 0.12
_HARDNESS = 0.5
_ENOUGH = 0.993

STRINGS_SHARE = 0.7
"""The share of a step's tokens. The rest is the mix, so that it is not forgotten."""

_FEWEST, _MOST = 4, 200
SHORTEST, LONGEST = 30, 400
"""Tokens in a string."""

_EDITED = 0.25

_LONGEST_ECHO = 14

LONG_SHARES = {"long": 0.4, "strings": 0.1, "mix": 0.5}
"""Shares of a step's tokens: long texts, strings of random tokens, the mix of all kinds."""

SETTLING_SHARES = {"long": 0.25, "strings": 0.05, "mix": 0.7}
"""The same while the target settles. It relearns what the lessons have displaced."""

_OWN_SHARE = 0.2
_FRESH_SHARE = 0.34
_ANSWER_LIMIT = 160


class ChoiceLesson(BatchSource):
    """Questions with the first words of their answers, and some copying to keep that skill: which fact is meant?

    The first words of a memorised answer identify it. A model trained on whole answers spends nearly all of its
    training on the rest and picks wrong answers. The lesson has finished when nearly all of those words are right.
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

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step. They depend on the seed and the step."""
        random = Random(f"choice {self._seed} {step}")
        questions = self._questions(random)

        def draw() -> TokenDocument:
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

    def _questions(self, random: Random) -> Iterator[TokenDocument]:
        known = list(facts.load_facts())
        while True:
            random.shuffle(known)
            for fact in known:
                yield drill(to_document(single("facts", facts.ask(fact, random), fact.answer), self._tokenizer))


class MatchingLesson(BatchSource):
    """Strings of few different tokens to repeat and edit, beside the mix: distinguishing similar places.

    In a string of random tokens over the whole vocabulary, the last token alone shows how far a copy has come. In a
    text it does not: commas, small words and pieces of words occur in many places, and only several tokens together
    determine the next. Strings of a dozen different tokens require exactly that. Similar lines of code require more:
    the model has to look back beyond everything that they share. A step depends only on the seed, its number and the
    progress.
    """

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._drills = Drills(tokenizer)
        self._seed = seed
        self._strings_tokens = round(step_tokens * STRINGS_SHARE)
        self._batch_tokens = batch_tokens
        self._mixture = Mixture(tokenizer, seed + 11, step_tokens - self._strings_tokens, batch_tokens)

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step: strings, which get longer as the budget is spent, and chats."""
        random = Random(f"matching {self._seed} {step}")
        longest = LONGEST if progress > 0.3 else LONGEST // 2
        strings = drawn(lambda: few_tokens(self._drills, random, longest), self._strings_tokens)
        chats = self._mixture.documents(step, PHASES[1].longest)
        return batches_by_length([*strings, *chats], ROW_LENGTHS, self._batch_tokens)


def few_tokens(drills: Drills, random: Random, longest: int) -> TokenDocument:
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


class LongTexts(BatchSource):
    """Longer texts than before to repeat and edit without a mistake, random strings, and the mix.

    Long copies fail because the model has never seen a text of several hundred tokens, or because the last two or three
    tokens occur elsewhere in the text with another continuation. A step depends only on the seed and its number.
    """

    def __init__(
        self,
        tokenizer: BytePairTokenizer,
        seed: int,
        step_tokens: int,
        batch_tokens: int,
        shares: Mapping[str, float] = LONG_SHARES,
    ) -> None:
        self._tokenizer = tokenizer
        self._drills = Drills(tokenizer)
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._shares = shares
        self._mixture = Mixture(tokenizer, seed + 7, round(step_tokens * shares["mix"]), batch_tokens)

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step, of all three sorts."""
        random = Random(f"long {self._seed} {step}")
        chats = self._long_documents(random)
        documents = [
            *drawn(lambda: next(chats), round(self._step_tokens * self._shares["long"])),
            *drawn(lambda: self._string(random), round(self._step_tokens * self._shares["strings"])),
            *self._mixture.documents(step, ROW_LENGTHS[-1]),
        ]
        return batches_by_length(documents, ROW_LENGTHS, self._batch_tokens)

    def _long_documents(self, random: Random) -> Iterator[TokenDocument]:
        for chat in copying.long_chats(random):
            document = to_document(chat, self._tokenizer)
            if len(document.ids) <= ROW_LENGTHS[-1]:
                yield document

    def _string(self, random: Random) -> TokenDocument:
        """A string of few different tokens, a string of any tokens, or a drill of another skill."""
        sort = random.random()
        if sort < 0.7:
            return few_tokens(self._drills, random, LONGEST)
        if sort < 0.85:
            return self._drills.repeated(random.choices(EVERY_TOKEN, k=random.randint(SHORTEST, LONGEST)), DRILL_GROUP)
        return drill_of_words(self._drills, random, 1.0)


class Chats(Protocol):
    """An endless source of chats."""

    def documents(self, step: int, longest: int) -> list[TokenDocument]:
        """The chats of one step as tokens, none longer than `longest`."""


def taught_step(target: TorchLlama, chats: Chats, step: int, batch_tokens: int) -> list[TeachingBatch]:
    """The chats of one step with the target's distributions. A fifth are answered by the target."""
    random = Random(f"own answers {step}")
    documents = chats.documents(step, ROW_LENGTHS[-1])
    chosen = {index for index in range(len(documents)) if random.random() < _OWN_SHARE}
    prompts = [documents[index] for index in sorted(chosen)]
    said = own_answers(target, prompts, END_ID, _ANSWER_LIMIT, random.choice((0.4, 0.8)), step)
    kept = [document for index, document in enumerate(documents) if index not in chosen]
    batches = batches_by_length([*kept, *said], ROW_LENGTHS, batch_tokens)
    return [teach(target, batch) for batch in batches]


class TaughtSource(BatchSource):
    """A training source: mostly stored steps, drawn repeatedly, and some new steps."""

    def __init__(self, store: TeachingStore, chats: Chats, seed: int) -> None:
        self._store = store
        self._chats = chats
        self._seed = seed

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """One stored or one new step."""
        random = Random(f"draft {self._seed} {step}")
        if random.random() < _FRESH_SHARE:
            return batches_by_length(self._chats.documents(step, ROW_LENGTHS[-1]), ROW_LENGTHS, 4096)
        return list(self._store.read(random.randrange(len(self._store))))
