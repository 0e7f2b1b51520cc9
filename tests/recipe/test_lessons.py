"""The lessons in similar places, long texts and long strings."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise
from pathlib import Path
from random import Random
from statistics import median

import pytest
import torch

from builtin_pair import copying, stages
from builtin_pair.chats import END_ID, SPECIALS
from builtin_pair.copying_exercises import LONGEST_TEXT
from builtin_pair.drills import EVERY_TOKEN, Drills, Level
from builtin_pair.lessons import (
    LONG_SHARES,
    LONGEST,
    SETTLING_SHARES,
    SHORTEST,
    STRINGS_SHARE,
    LongTexts,
    MatchingLesson,
    echoing,
    few_tokens,
)
from builtin_pair.mixture import DRILL_GROUP, KINDS, ROW_LENGTHS
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.model import ModelConfig, TorchLlama
from specchat_engine.training.packing import PackedBatch, TokenDocument
from specchat_engine.training.trainer import BatchSource


@pytest.fixture(scope="module")
def strings(tokenizer: BytePairTokenizer) -> list[list[int]]:
    """The answers of many drills, most of them whole strings."""
    random, drills = Random(5), Drills(tokenizer)
    return [answer(few_tokens(drills, random, LONGEST)) for _ in range(300)]


def answer(document: TokenDocument) -> list[int]:
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
    determined = total = 0
    for string in strings:
        pairs = list(pairwise(string))
        followers = Counter(first for first, _ in set(pairs))
        determined += sum(followers[first] == 1 for first, _ in pairs)
        total += len(pairs)
    assert determined < 0.25 * total


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


@pytest.mark.parametrize("lesson", [MatchingLesson, LongTexts])
def test_a_step_depends_only_on_its_seed_and_number(
    tokenizer: BytePairTokenizer, lesson: type[MatchingLesson | LongTexts]
) -> None:
    one, other = (lesson(tokenizer, 3, 2048, 1024) for _ in range(2))
    assert rows(one, 7) == rows(other, 7)
    assert rows(one, 7) != rows(one, 8)


def test_strings_have_their_share_beside_every_kind_of_chat_and_grow(tokenizer: BytePairTokenizer) -> None:
    lesson = MatchingLesson(tokenizer, 3, 4096, 3072)
    held: Counter[int] = Counter()
    longest = {}
    for progress in (0.0, 0.9):
        for step in range(12):
            for batch in lesson.batches(step, progress):
                held.update(batch.groups[batch.documents > 0].tolist())
                longest[progress] = max(longest.get(progress, 0), int(batch.positions.max()))
    assert set(held) == set(range(len(KINDS) + 1))
    assert STRINGS_SHARE - 0.1 < held[DRILL_GROUP] / held.total() < STRINGS_SHARE + 0.2
    assert longest[0.0] < longest[0.9] <= 1024


def test_long_chats_return_whole_texts_up_to_several_times_as_long() -> None:
    chats = list(islice(copying.long_chats(Random(1)), 400))
    usual = list(islice(copying.chats(Random(1)), 400))
    answers = [len(chat.turns[0].assistant) for chat in chats]
    assert LONGEST_TEXT < max(answers) < 1.2 * copying.LONGEST * LONGEST_TEXT
    assert median(answers) > 2 * median(len(chat.turns[0].assistant) for chat in usual)


def test_all_three_sorts_occur_and_some_rows_are_long(tokenizer: BytePairTokenizer) -> None:
    for shares in (LONG_SHARES, SETTLING_SHARES):
        assert sum(shares.values()) == pytest.approx(1.0)
    source = LongTexts(tokenizer, 3, 8192, 3072)
    batches: list[PackedBatch] = [batch for step in range(4) for batch in source.batches(step, step / 4)]
    assert {group for batch in batches for group in batch.groups.flatten().tolist()} == set(range(len(KINDS) + 1))
    assert max(batch.ids.shape[1] for batch in batches) == ROW_LENGTHS[-1]


def test_a_repeated_string_is_requested_and_learned_completely(tokenizer: BytePairTokenizer) -> None:
    text = [9, 8, 9, 8, 9]
    drill = Drills(tokenizer).repeated(text, 6)
    assert [token for token, learned in zip(drill.ids, drill.learned, strict=True) if learned] == [*text, END_ID]
    assert tokenizer.decode(drill.ids[: -len(text) - 1]).count(tokenizer.decode(text)) == 1


def test_the_average_lies_between_the_target_before_and_after_its_last_lessons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "TARGET", ModelConfig(320, width=32, layers=1, heads=1, kv_heads=1, feed_forward=32))
    run = stages.Run(tmp_path, 1, None, None, "F16")
    before, after = (TorchLlama(stages.TARGET, seed).requires_grad_(False) for seed in (1, 2))
    for name, model in (("target", before), ("target-lengthening", after)):
        torch.save({"model": model.state_dict()}, tmp_path / f"{name}.pt")
    stages.average_target(run)
    averaged = stages.trained(run, "target-averaged", stages.TARGET)
    for one, other, mean in zip(before.parameters(), after.parameters(), averaged.parameters(), strict=True):
        torch.testing.assert_close(mean, 0.2 * one + 0.8 * other)


def rows(source: BatchSource, step: int) -> list[list[int]]:
    """The token ids of a step in the middle of the budget, row by row."""
    return [row for batch in source.batches(step, 0.5) for row in batch.ids.tolist()]
