"""Practice on random tokens: copying, substituting, looking up a value, quoting a line.

Such texts have no meaning, so that only the skill can be learned from them. Words come later, in the chats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from builtin_pair.chats import END_ID, FIRST_PLAIN_ID, VOCABULARY_SIZE
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.packing import PackedBatch, TokenDocument, batches_by_length, drawn
from specchat_engine.training.trainer import BatchSource

SKILLS = ("copy", "substitute", "look up", "quote")
_ROW_LENGTHS = (128, 256)
_PASSED = 0.94
_REST = 0.5


@dataclass(frozen=True, slots=True)
class Level:
    """Texts of about `longest` tokens. What is replaced or looked up has up to `pieces` tokens."""

    longest: int
    tokens: Sequence[int]
    pieces: int


EVERY_TOKEN = range(FIRST_PLAIN_ID, VOCABULARY_SIZE)
LEVELS = (
    Level(6, EVERY_TOKEN[:300], 1),
    Level(9, EVERY_TOKEN[:600], 1),
    Level(14, EVERY_TOKEN[:2000], 2),
    Level(24, EVERY_TOKEN, 3),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, its answer, and the tokens of the answer to be learned."""

    question: list[int]
    answer: list[int]
    learned: list[bool]


class Drills:
    """Makes chats about random tokens."""

    def __init__(self, tokenizer: BytePairTokenizer) -> None:
        self._encode = tokenizer.encode
        self._user = tokenizer.encode("<|im_start|>user\n")
        self._assistant = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n")
        self._line = tokenizer.encode("\n")

    def document(self, random: Random, level: Level, skill: int, group: int) -> TokenDocument:
        """A drill of one of the `SKILLS`."""
        make = (self._copy, self._substitute, self._look_up, self._quote)[skill]
        return self._chat(make(random, level), group)

    def repeated(self, text: list[int], group: int) -> TokenDocument:
        """A drill that asks to repeat this text."""
        return self._chat(all_of(self._encode("Repeat exactly:\n"), text, text), group)

    def _chat(self, asked: Asked, group: int) -> TokenDocument:
        before = [*self._user, *asked.question, *self._assistant]
        return TokenDocument([*before, *asked.answer, END_ID], [False] * len(before) + [*asked.learned, True], group)

    def _copy(self, random: Random, level: Level) -> Asked:
        text = some(random, level, 3, level.longest)
        return all_of(self._encode("Repeat exactly:\n"), text, text)

    def _substitute(self, random: Random, level: Level) -> Asked:
        """Every occurrence of a few tokens is replaced.

        The replacements and what follows them are always learned, the rest of the text often enough that replacements
        are not made where they do not belong.
        """
        old, new = some(random, level, 1, level.pieces), some(random, level, 1, level.pieces)
        parts = [some(random, level, 1, max(1, level.longest // 3)) for _ in range(random.choice((2, 2, 3)))]
        parts = [[token for token in part if token != old[0]] or [old[0] + 1] for part in parts]
        asked, between = random.choice((("Rename ", " to "), ("Replace ", " with ")))
        mark = self._encode(random.choice(("`", '"', "'", "")))
        question = [*self._encode(asked), *mark, *old, *mark, *self._encode(between), *mark, *new, *mark]
        changed = [False] * len(parts[0])
        for part in parts[1:]:
            changed += [True] * (len(new) + 1) + [False] * (len(part) - 1)
        learned = [shows or random.random() < _REST for shows in changed]
        return Asked([*question, *self._encode(":\n"), *joined(parts, old)], joined(parts, new), learned)

    def _look_up(self, random: Random, level: Level) -> Asked:
        """Gives one of several keys and asks for its value."""
        count = random.randint(2, max(2, min(6, level.longest // 5)))
        pairs = [
            (some(random, level, 1, min(2, level.pieces)), some(random, level, 1, level.pieces)) for _ in range(count)
        ]
        key, value = random.choice(pairs)
        sign = self._encode(random.choice((" = ", ": ", "=")))
        lines = joined([[*name, *sign, *held] for name, held in pairs], self._line)
        return all_of([*self._encode("Give the value of "), *key, *self._encode(":\n")], lines, value)

    def _quote(self, random: Random, level: Level) -> Asked:
        """Asks for the first or the last of several lines, or the one that contains a token."""
        count = random.randint(2, max(2, min(6, level.longest // 4)))
        lines = [some(random, level, 1, 5) for _ in range(count)]
        place = random.choice((0, count - 1, random.randrange(count)))
        named = random.random() < 0.4 or place not in (0, count - 1)
        asked = self._encode("Give the first line:\n" if place == 0 else "Give the last line:\n")
        if named:
            asked = [*self._encode("Give the line with "), random.choice(lines[place]), *self._encode(":\n")]
        return all_of(asked, joined(lines, self._line), lines[place])


class SkillLesson(BatchSource):
    """A training source of drills that goes up a level when every skill is right often enough."""

    def __init__(self, tokenizer: BytePairTokenizer, seed: int, step_tokens: int, batch_tokens: int) -> None:
        self._drills = Drills(tokenizer)
        self._seed = seed
        self._step_tokens = step_tokens
        self._batch_tokens = batch_tokens
        self._level = 0
        self._smoothed = [0.0] * len(SKILLS)

    @property
    def finished(self) -> bool:
        """True once the last level has been passed."""
        return self._level >= len(LEVELS)

    def batches(self, step: int, progress: float) -> Sequence[PackedBatch]:
        """The batches of one step, a fifth of them from lower levels. Weak skills occur more often."""
        random = Random(f"skills {self._seed} {step}")
        weights = [1.2 - share for share in self._smoothed]

        def draw() -> TokenDocument:
            below = self._level > 0 and random.random() < 0.2
            level = LEVELS[random.randrange(self._level)] if below else LEVELS[self._level]
            skill = random.choices(range(len(SKILLS)), weights)[0]
            return self._drills.document(random, level, skill, skill)

        return batches_by_length(drawn(draw, self._step_tokens), _ROW_LENGTHS, self._batch_tokens)

    def observe(self, accuracy: dict[int, float]) -> None:
        """Updates the share of right tokens of each skill and goes up when all are high enough."""
        for skill, share in accuracy.items():
            self._smoothed[skill] += 0.15 * (share - self._smoothed[skill])
        if min(self._smoothed) > _PASSED:
            self._level += 1
            self._smoothed = [0.6] * len(SKILLS)

    def state_dict(self) -> dict[str, Any]:
        """The level and the shares of right tokens."""
        return {"level": self._level, "smoothed": self._smoothed}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continues from a saved state."""
        self._level = state["level"]
        self._smoothed = list(state["smoothed"])


def some(random: Random, level: Level, fewest: int, most: int) -> list[int]:
    """This many random tokens."""
    return random.choices(level.tokens, k=random.randint(fewest, most))


def joined(parts: Sequence[Sequence[int]], between: Sequence[int]) -> list[int]:
    """The parts joined by the same tokens."""
    text = list(parts[0])
    for part in parts[1:]:
        text += [*between, *part]
    return text


def all_of(asked: Sequence[int], text: Sequence[int], answer: list[int]) -> Asked:
    """A drill whose whole answer is learned."""
    return Asked([*asked, *text], answer, [True] * len(answer))
