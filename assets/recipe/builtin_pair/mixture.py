"""The corpus: an endless mix of all kinds of chats, each with its share of the tokens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

from builtin_pair import copying, facts, other, python_library, stories, structured
from builtin_pair.chats import SPECIALS, Chat, ChatSource, Kind, pieces
from builtin_pair.drills import EVERY_TOKEN, SKILLS, Drills, Level
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.packing import PackedBatch, TokenDocument, batches_by_length
from specchat_engine.training.trainer import BatchSource

SOURCES: Mapping[Kind, ChatSource] = {
    "copy": copying.chats,
    "facts": facts.chats,
    "python": python_library.chats,
    "structured": structured.chats,
    "story": stories.chats,
    "other": other.chats,
}
SHARES: Mapping[Kind, float] = {
    "copy": 0.42,
    "facts": 0.30,
    "python": 0.10,
    "structured": 0.07,
    "story": 0.03,
    "other": 0.08,
}
EARLY_SHARES: Mapping[Kind, float] = {
    "copy": 0.74,
    "facts": 0.11,
    "python": 0.06,
    "structured": 0.04,
    "story": 0.01,
    "other": 0.04,
}
"""The shares at the beginning. Easy copy tasks take longest to learn; the others only have to be remembered."""

KINDS: tuple[Kind, ...] = tuple(SHARES)
"""The order in which documents are numbered into groups."""

GROUPS = (*KINDS, "drill")
DRILL_GROUP = len(KINDS)

_CHOICE_CHANCE = 0.7
_DRILL_TOKENS = 12
_FOCUS_CHANCE, _REST = 0.75, 0.35

_SAMPLE = 200
_EARLY = 0.15
"""The beginning lasts until the copy tasks reach this hardness."""
_SKILL_WEIGHTS = (1, 5, 4, 2)
_JOINED_CHANCE = 0.06
_DRILLS, _EARLY_DRILLS = 0.08, 0.3
"""The share of the tokens that drills always take, and their additional share at the beginning."""


@dataclass(frozen=True, slots=True)
class Phase:
    """From this fraction of the budget on, chats have up to `longest` tokens."""

    begins: float
    longest: int


ROW_LENGTHS = (128, 256, 512, 1024)
PHASES = (Phase(0.0, 256), Phase(0.45, 512), Phase(0.7, 1024))


def to_document(chat: Chat, tokenizer: BytePairTokenizer) -> TokenDocument:
    """The tokens of a chat. Those of the answers, including their end tokens, are learned."""
    parts = pieces(chat)
    encoded = tokenizer.encode_many([text for text, _ in parts])
    ids: list[int] = []
    learned: list[bool] = []
    for part, (_, answer) in zip(encoded, parts, strict=True):
        ids += part
        learned += [answer] * len(part)
    return TokenDocument(ids, learned, KINDS.index(chat.kind))


def texts(seed: int, each: Mapping[Kind, int]) -> Iterator[str]:
    """The text of this many chats of each kind, without special tokens, to train the tokenizer."""
    for kind, count in each.items():
        for chat in islice(SOURCES[kind](Random(f"texts {seed} {kind}")), count):
            yield "".join(text for text, _ in pieces(chat)).replace(SPECIALS[1], "").replace(SPECIALS[2], "")


def drill_of_words(drills: Drills, random: Random, hardness: float) -> TokenDocument:
    """A drill of any skill, more often of the harder ones, mostly over the whole vocabulary."""
    tokens = EVERY_TOKEN[:600] if random.random() < 0.4 else EVERY_TOKEN
    level = Level(6 + round(40 * hardness), tokens, random.choice((1, 1, 2, 3)))
    return drills.document(random, level, random.choices(range(len(SKILLS)), _SKILL_WEIGHTS)[0], DRILL_GROUP)


def drill(document: TokenDocument) -> TokenDocument:
    """The chat cut off after the first words of its last answer, to practise choosing the answer.

    Those words identify the fact. The rest of a memorised answer teaches little and takes most of the time.
    """
    starts = [
        place
        for place, (before, now) in enumerate(zip(document.learned, document.learned[1:], strict=False), 1)
        if now and not before
    ]
    end = starts[-1] + _DRILL_TOKENS
    return TokenDocument(document.ids[:end], document.learned[:end], document.group)


def unforeseen(document: TokenDocument, random: Random) -> TokenDocument:
    """The chat in which mostly those tokens of the answers are learned that do not continue the pasted text.

    A token that followed the same two tokens in the question is copying, which the model knows by now. The other tokens
    are edits, and the beginnings and ends of quotations. Some of the copied tokens are learned too, so that the model
    does not edit where it should copy.
    """
    ids, learned = document.ids, list(document.learned)
    seen: set[tuple[int, ...]] = set()
    start = 0
    for place in range(2, len(ids)):
        if not document.learned[place]:
            continue
        if not document.learned[place - 1]:
            seen |= {tuple(ids[at : at + 3]) for at in range(start, place - 2)}
            start = place
        learned[place] = tuple(ids[place - 2 : place + 1]) not in seen or random.random() < _REST
    return TokenDocument(ids, learned, document.group)


class Mixture(BatchSource):
    """A training source. A step depends only on the seed and its number."""

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._tokenizer = tokenizer
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._drills = Drills(tokenizer)
        self._chances: dict[tuple[int, float], list[float]] = {}

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step. Chats get longer and copying harder as the budget is spent."""
        longest = [phase.longest for phase in PHASES if progress >= phase.begins][-1]
        lengths = [length for length in ROW_LENGTHS if length <= longest]
        hardness = round(0.85 * progress**1.2, 1)
        return batches_by_length(self.documents(step, longest, hardness), lengths, self._batch_tokens)

    def documents(self, step: int, longest: int, hardness: float = 1.0) -> list[TokenDocument]:
        """The chats of one step as tokens, none longer than `longest`. `hardness` is that of `copying.chats`."""
        chances = self._chances_of_kinds(longest, hardness)
        random = Random(f"mix {self._seed} {step}")
        streams = {kind: self._stream(kind, f"{self._seed} {step}", longest, hardness) for kind in KINDS}
        documents: list[TokenDocument] = []
        size = 0
        drilled = 0
        while size < self._step_tokens:
            if drilled < size * (_DRILLS + _EARLY_DRILLS * (1 - hardness) ** 3):
                document = drill_of_words(self._drills, random, hardness)
                drilled += len(document.ids)
            else:
                document = next(streams[random.choices(KINDS, chances)[0]])
            documents.append(document)
            size += len(document.ids)
        return documents if longest == PHASES[0].longest else self._joined(documents, longest, random)

    def _joined(self, documents: Sequence[TokenDocument], longest: int, random: Random) -> list[TokenDocument]:
        """Joins some of the chats into long conversations."""
        line_break = self._tokenizer.encode("\n")
        result: list[TokenDocument] = []
        aim = 0
        for document in documents:
            if result and len(result[-1].ids) + 1 + len(document.ids) <= aim:
                before = result.pop()
                result.append(
                    TokenDocument(
                        [*before.ids, *line_break, *document.ids],
                        [*before.learned, False, *document.learned],
                        before.group,
                    )
                )
            else:
                aim = random.randint(PHASES[0].longest, longest) if random.random() < _JOINED_CHANCE else 0
                result.append(document)
        return result

    def _stream(self, kind: Kind, seed: str, longest: int, hardness: float) -> Iterator[TokenDocument]:
        random = Random(f"{seed} {kind}")
        chats = copying.chats(random, hardness) if kind == "copy" else SOURCES[kind](random)
        for chat in chats:
            document = to_document(chat, self._tokenizer)
            if kind == "facts" and random.random() < _CHOICE_CHANCE:
                document = drill(document)
            if kind == "copy" and random.random() < _FOCUS_CHANCE:
                document = unforeseen(document, random)
            if len(document.ids) <= longest:
                yield document

    def _chances_of_kinds(self, longest: int, hardness: float) -> list[float]:
        """The frequency of each kind that gives its share of the tokens. Mean lengths are estimated from a sample."""
        key = longest, hardness
        if key not in self._chances:
            shares = EARLY_SHARES if hardness < _EARLY else SHARES
            chances = []
            for kind in KINDS:
                sample = islice(self._stream(kind, f"lengths {self._seed}", longest, hardness), _SAMPLE)
                chances.append(shares[kind] * _SAMPLE / sum(len(document.ids) for document in sample))
            self._chances[key] = chances
        return self._chances[key]
