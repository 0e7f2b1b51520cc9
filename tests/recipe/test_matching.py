"""The lesson in distinguishing similar contexts."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from random import Random

import pytest

from builtin_pair.drills import EVERY_TOKEN, Drills, Level
from builtin_pair.matching import LONGEST, SHORTEST, STRINGS_SHARE, MatchingLesson, echoing, few_tokens
from builtin_pair.mixture import DRILL_GROUP, KINDS
from builtin_pair.template import SPECIALS
from specchat_engine.training.bpe import BytePairTokenizer
from specchat_engine.training.packing import Document
from support.batches import rows


@pytest.fixture(scope="module")
def strings(tokenizer: BytePairTokenizer) -> list[list[int]]:
    """The answers of many drills, most of them whole strings."""
    random, drills = Random(5), Drills(tokenizer)
    return [answer(few_tokens(drills, random, LONGEST)) for _ in range(300)]


def answer(document: Document) -> list[int]:
    """The last turn without its end token, including tokens that are not learned."""
    begins = max(place for place, token in enumerate(document.ids[:-1]) if token == SPECIALS.index("<|im_start|>"))
    return list(document.ids[begins + 3 : -1])


def test_strings_are_long_and_hold_few_different_tokens(strings: list[list[int]]) -> None:
    whole = [string for string in strings if len(string) >= SHORTEST]
    assert len(whole) > 0.7 * len(strings)
    assert LONGEST * 0.9 < max(map(len, whole)) <= LONGEST * 1.1
    assert min(len(set(string)) for string in whole) < 8
    assert max(len(set(string)) for string in whole) > 60


def test_the_previous_token_rarely_determines_the_next(strings: list[list[int]]) -> None:
    foretold = total = 0
    for string in strings:
        pairs = list(pairwise(string))
        followers = Counter(first for first, _ in set(pairs))
        foretold += sum(followers[first] == 1 for first, _ in pairs)
        total += len(pairs)
    assert foretold < 0.25 * total


def test_in_a_third_of_the_strings_some_tokens_are_far_commoner_than_others(strings: list[list[int]]) -> None:
    long = [string for string in strings if len(string) > 100]
    commonest = [Counter(string).most_common(1)[0][1] * len(set(string)) / len(string) for string in long]
    uneven = sum(share > 2.5 for share in commonest)
    assert 0.2 < uneven / len(long) < 0.6


def test_stretches_recur_with_different_continuations() -> None:
    """The last few tokens are not enough there: they have occurred before with a different continuation."""
    random, ambiguous = Random(3), []
    for _ in range(20):
        text = echoing(random, Level(300, EVERY_TOKEN[:500], 3))
        assert len(text) == 300
        followers: dict[tuple[int, ...], set[int]] = {}
        for at in range(len(text) - 4):
            followers.setdefault(tuple(text[at : at + 4]), set()).add(text[at + 4])
        ambiguous.append(sum(len(found) > 1 for found in followers.values()))
    assert min(ambiguous) >= 3
    assert sum(ambiguous) / len(ambiguous) > 8


def test_a_step_depends_only_on_its_seed_and_number(tokenizer: BytePairTokenizer) -> None:
    one, other = (MatchingLesson(tokenizer, 3, 2048, 1024) for _ in range(2))
    assert rows(one, 7) == rows(other, 7)
    assert rows(one, 7) != rows(one, 8)


def test_strings_have_their_share_beside_every_kind_of_chat_and_grow(tokenizer: BytePairTokenizer) -> None:
    lesson = MatchingLesson(tokenizer, 3, 4096, 3072)
    held: Counter[int] = Counter()
    longest = {}
    for progress in (0.0, 0.9):
        for step in range(8):
            for batch in lesson.batches(step, progress):
                held.update(batch.groups[batch.documents > 0].tolist())
                longest[progress] = max(longest.get(progress, 0), int(batch.positions.max()))
    assert set(held) == set(range(len(KINDS) + 1))
    assert STRINGS_SHARE - 0.1 < held[DRILL_GROUP] / held.total() < STRINGS_SHARE + 0.2
    assert longest[0.0] < longest[0.9] <= 1024
