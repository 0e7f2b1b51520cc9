"""Practice on random tokens: copying, putting one thing in the place of another, looking a value up.

What such a text says is nothing, so that nothing but the skill can be learned from it, and a text is as short as the
skill allows. Words come later, in the chats.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from builtin_pair.template import END_ID, FIRST_PLAIN_ID, VOCABULARY_SIZE
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.packing import Document

_TOKENS = range(FIRST_PLAIN_ID, VOCABULARY_SIZE)


class Drills:
    """Makes chats about random tokens; all of them belong to one group."""

    def __init__(self, tokenizer: BytePairTokenizer, group: int) -> None:
        self._group = group
        self._encode = tokenizer.encode
        self._user = tokenizer.encode("<|im_start|>user\n")
        self._assistant = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n")
        self._line = tokenizer.encode("\n")

    def document(self, random: Random, longest: int) -> Document:
        """A drill on a text of at most about `longest` tokens."""
        made = random.choices((self._copy, self._substitute, self._look_up, self._quote), (3, 4, 2, 2))[0]
        question, answer = made(random, longest)
        asked = [*self._user, *question, *self._assistant]
        return Document([*asked, *answer, END_ID], [False] * len(asked) + [True] * (len(answer) + 1), self._group)

    def _copy(self, random: Random, longest: int) -> tuple[list[int], list[int]]:
        text = some(random, random.randint(3, longest))
        return [*self._encode("Repeat exactly:\n"), *text], text

    def _substitute(self, random: Random, longest: int) -> tuple[list[int], list[int]]:
        """Every occurrence of one to three tokens becomes other ones."""
        old, new = some(random, random.choice((1, 1, 2, 3))), some(random, random.choice((1, 1, 2, 3)))
        parts = [some(random, random.randint(1, max(2, longest // 3))) for _ in range(random.choice((2, 2, 3)))]
        asked, between = random.choice((("Rename ", " to "), ("Replace ", " with ")))
        mark = self._encode(random.choice(("`", '"', "'", "")))
        question = [*self._encode(asked), *mark, *old, *mark, *self._encode(between), *mark, *new, *mark]
        return [*question, *self._encode(":\n"), *joined(parts, old)], joined(parts, new)

    def _look_up(self, random: Random, longest: int) -> tuple[list[int], list[int]]:
        """One of several keys is given, and its value is wanted."""
        count = random.randint(2, max(2, min(6, longest // 6)))
        pairs = [(some(random, random.choice((1, 1, 2))), some(random, random.choice((1, 2, 3)))) for _ in range(count)]
        key, value = random.choice(pairs)
        sign = self._encode(random.choice((" = ", ": ", "=")))
        lines = joined([[*name, *sign, *held] for name, held in pairs], self._line)
        return [*self._encode("Give the value of "), *key, *self._encode(":\n"), *lines], value

    def _quote(self, random: Random, longest: int) -> tuple[list[int], list[int]]:
        """The first or the last of several lines, or the one that holds a token."""
        count = random.randint(2, max(2, min(6, longest // 5)))
        lines = [some(random, random.randint(1, 6)) for _ in range(count)]
        place = random.choice((0, -1, random.randrange(count)))
        asked = self._encode(
            {0: "Give the first line:\n", -1: "Give the last line:\n"}.get(place, "Give the line with ")
        )
        if place > 0:
            asked = [*asked, random.choice(lines[place]), *self._encode(":\n")]
        return [*asked, *joined(lines, self._line)], lines[place]


def some(random: Random, count: int) -> list[int]:
    """So many random tokens."""
    return random.choices(_TOKENS, k=count)


def joined(parts: Sequence[Sequence[int]], between: Sequence[int]) -> list[int]:
    """The parts with the same tokens between each two."""
    text = list(parts[0])
    for part in parts[1:]:
        text += [*between, *part]
    return text
