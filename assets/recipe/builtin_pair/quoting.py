"""A lesson after all others: quoting the passage that stands after a question, as the app's help gives it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from builtin_pair import facts, library_texts, other
from builtin_pair.chats import Chat, Turn
from builtin_pair.help_search import passages
from builtin_pair.material import Material
from builtin_pair.mixture import ROW_LENGTHS, Mixture, to_document
from builtin_pair.sections import read_sections
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_assets.guide import Passage, quoting
from specchat_engine.training.packing import PackedBatch, batches_by_length, drawn
from specchat_engine.training.trainer import BatchSource

_QUOTED = 0.45
"""The share of a step's tokens. The rest is the mix, so that it is not forgotten."""

_ANOTHER, _NEW = 0.15, 0.15
"""How often the passage is about something else, and how often it is a text that was never seen."""

_ABOUT_CODE, _NEW_CODE, _LONGEST_CODE = 0.3, 0.5, 450
"""How often a question is about one of the functions in the help, how often a new text is code, and its length."""

_SECOND = 0.2


class QuotingLesson(BatchSource):
    """Questions followed by a passage that is to be repeated word for word, beside the mix.

    Some passages do not fit the question, and some are new texts: the guide is to quote what is there, not what it
    remembers. A step depends only on the seed and its number.
    """

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._seed = seed
        self._quoted_tokens = round(step_tokens * _QUOTED)
        self._batch_tokens = batch_tokens
        self._mixture = Mixture(tokenizer, seed + 13, step_tokens - self._quoted_tokens, batch_tokens)

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step: quotations and chats."""
        quotations = chats(Random(f"quoting {self._seed} {step}"))
        documents = drawn(lambda: to_document(next(quotations), self._tokenizer), self._quoted_tokens)
        documents += self._mixture.documents(step, ROW_LENGTHS[-1])
        return batches_by_length(documents, ROW_LENGTHS, self._batch_tokens)


def chats(random: Random) -> Iterator[Chat]:
    """Endless questions with the passage to quote; a fifth are the second turn of a chat."""
    known = {passage.id: passage for passage in passages()}
    asked = facts.load_facts()
    functions = [fact for fact in asked if fact.answer.lstrip().startswith("```")]
    pieces = [piece for piece in library_texts.code_pieces() if len(piece) <= _LONGEST_CODE]
    earlier = facts.chats(random)
    while True:
        fact = random.choice(functions if random.random() < _ABOUT_CODE else asked)
        passage = known[fact.id]
        question = facts.ask(fact, random) if random.random() > 0.1 else other.refused_question(random)
        chance = random.random()
        if chance < _ANOTHER:
            passage = random.choice([*known.values()])
        elif chance < _ANOTHER + _NEW:
            passage = Passage("", "", _new_text(random, pieces))
        turns = [Turn(quoting(question, passage), passage.text)]
        if random.random() < _SECOND:
            turns = [*next(earlier).turns, *turns]
        yield Chat("facts", tuple(turns))


def _new_text(random: Random, pieces: Sequence[str]) -> str:
    if random.random() < _NEW_CODE:
        return f"```python\n{random.choice(pieces)}\n```"
    material = Material(random, read_sections("words.txt"), random.uniform(0.3, 1), random.uniform(0.5, 1.5), 0.8)
    return material.prose()
