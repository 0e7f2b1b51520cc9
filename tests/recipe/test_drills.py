"""Drills on random tokens train the intended skill and nothing else."""

from __future__ import annotations

from random import Random

import pytest

from builtin_pair.chats import END_ID, SPECIALS
from builtin_pair.drills import LEVELS, SKILLS, Drills, SkillLesson
from builtin_pair.mixture import unforeseen
from builtin_pair.tokenizer import BytePairTokenizer
from specchat_engine.training.packing import TokenDocument

TEXTS = [
    "Repeat exactly: Rename Replace with to Give the value of the first last line with",
    "<|im_start|> user = ` ' :",
]


@pytest.fixture(scope="module")
def tokenizer() -> BytePairTokenizer:
    return BytePairTokenizer.train(TEXTS * 40, 300, SPECIALS)


@pytest.mark.parametrize("skill", range(len(SKILLS)), ids=SKILLS)
def test_a_drill_ends_with_a_learned_end(tokenizer: BytePairTokenizer, skill: int) -> None:
    random = Random(1)
    for _ in range(100):
        document = Drills(tokenizer).document(random, LEVELS[0], skill, 3)
        assert (document.ids[-1], document.learned[-1], document.group) == (END_ID, True, 3)
        assert len(document.ids) == len(document.learned) < 60


def test_copied_and_quoted_tokens_are_in_the_question(tokenizer: BytePairTokenizer) -> None:
    random = Random(2)
    for skill in ("copy", "look up", "quote"):
        for _ in range(100):
            document = Drills(tokenizer).document(random, LEVELS[0], SKILLS.index(skill), 0)
            start = document.learned.index(True)
            answer = list(document.ids[start:-1])
            question = list(document.ids[:start])
            assert any(question[at : at + len(answer)] == answer for at in range(len(question)))


def test_a_substitution_always_learns_the_change_and_the_token_after_it(tokenizer: BytePairTokenizer) -> None:
    random = Random(3)
    unlearned = 0
    for _ in range(100):
        document = Drills(tokenizer).document(random, LEVELS[0], SKILLS.index("substitute"), 0)
        turn = tokenizer.encode("<|im_end|>\n<|im_start|>assistant\n")
        starts = [at for at in range(len(document.ids)) if document.ids[at : at + len(turn)] == turn]
        answer, learned = document.ids[starts[0] + len(turn) : -1], document.learned[starts[0] + len(turn) : -1]
        size = len(answer)
        text = document.ids[starts[0] - size : starts[0]]
        changed = [place for place in range(size) if text[place] != answer[place]]
        assert changed
        assert all(learned[place] and (place + 1 == size or learned[place + 1]) for place in changed)
        unlearned += learned.count(False)
    assert unlearned > 20


def test_the_level_goes_up_when_every_skill_is_right(tokenizer: BytePairTokenizer) -> None:
    lesson = SkillLesson(tokenizer, 1, 600, 512)
    for _ in range(60):
        lesson.observe({0: 1.0, 1: 1.0, 2: 1.0, 3: 0.5})
    assert lesson.state_dict()["level"] == 0
    for _ in range(60 * len(LEVELS)):
        lesson.observe(dict.fromkeys(range(4), 1.0))
    assert lesson.finished


def test_a_saved_lesson_continues_where_it_stopped(tokenizer: BytePairTokenizer) -> None:
    first, second = (SkillLesson(tokenizer, 1, 600, 512) for _ in range(2))
    for _ in range(30):
        first.observe(dict.fromkeys(range(4), 1.0))
    second.load_state_dict(first.state_dict())
    assert first.state_dict()["level"] > 0
    assert [batch.ids.tolist() for batch in first.batches(7, 0)] == [
        batch.ids.tolist() for batch in second.batches(7, 0)
    ]


def test_tokens_that_the_question_predicts_are_learned_only_sometimes() -> None:
    question, answer = [9, 1, 2, 3, 4, 5, 8], [1, 2, 3, 7, 4, 5, END_ID]
    document = TokenDocument([*question, *answer], [False] * 7 + [True] * 7)
    runs = [unforeseen(document, Random(seed)).learned[7:] for seed in range(200)]
    shares = [sum(learned[place] for learned in runs) / 200 for place in range(7)]
    assert [share == 1 for share in shares] == [True, True, False, True, True, True, True]
    assert 0.2 < shares[2] < 0.5
