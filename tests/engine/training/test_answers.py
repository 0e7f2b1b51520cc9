"""Several texts at a time are those that the target writes one by one."""

from __future__ import annotations

from pathlib import Path

import pytest

from specchat_engine import Message, SamplingParams
from specchat_engine.training.answers import AnswerWriter
from support.tiny_models import write_tiny_model

ASKED = [(Message("user", text),) for text in ("hello there", "a" * 200, "again", "one", "tell me a story")]


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_tiny_model(tmp_path_factory.mktemp("answers") / "target.gguf", sharpness=0.3)


def written(target: Path, texts: int, limit: int = 12, longest: int = 512) -> list[str]:
    writer = AnswerWriter(target, longest=longest, threads=1, texts=texts)
    try:
        return [*writer.answers(ASKED, SamplingParams(), limit, seed=3)]
    finally:
        writer.close()


def test_answers_come_in_order_and_are_those_of_one_at_a_time(target: Path) -> None:
    alone = written(target, 1)
    assert len(set(alone)) > 1
    assert written(target, 3) == alone


def test_the_number_of_a_prompt_seeds_its_answer(target: Path) -> None:
    writer = AnswerWriter(target, longest=512, threads=1, texts=2)
    whole = [*writer.answers(ASKED, SamplingParams(), 20, seed=3)]
    assert [*writer.answers(ASKED[2:], SamplingParams(), 20, seed=5)] == whole[2:]
    writer.close()


def test_a_prompt_without_room_gets_an_empty_answer(target: Path) -> None:
    answers = written(target, 2, longest=128)
    assert not answers[1]
    assert all(answers[place] for place in (0, 2, 3, 4))


def test_a_text_that_goes_round_in_a_circle_is_ended(tmp_path: Path) -> None:
    still = write_tiny_model(tmp_path / "still.gguf", sharpness=1000.0)
    writer = AnswerWriter(still, longest=2048, threads=1, texts=2)
    (answer,) = writer.answers(ASKED[:1], SamplingParams(temperature=0.0), 1500)
    assert len(answer.encode()) < 1500
    writer.close()


def test_questions_of_the_targets_own_are_different_from_each_other(target: Path) -> None:
    writer = AnswerWriter(target, longest=512, threads=1, texts=4)
    questions = writer.questions(12, seed=1)
    assert len(questions) == len(set(questions)) <= 12
    assert all(question == question.strip() for question in questions)
    writer.close()
