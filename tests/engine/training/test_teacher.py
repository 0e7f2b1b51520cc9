"""What a target teaches is what it would say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch

from specchat_engine import DecodeError
from specchat_engine.load_options import NORMED
from specchat_engine.stores.recorded_turns import KEPT, RecordedTurn
from specchat_engine.training import teacher as teacher_module
from specchat_engine.training.gguf import read_gguf
from specchat_engine.training.packing import TokenDocument
from specchat_engine.training.teacher import Lesson, TaughtLessons, Teacher, TeacherOfBoth, likeliest, pack_lessons
from support.heads import layer_inputs
from support.quantise import quantise


@pytest.fixture
def teacher(target: Path) -> Iterator[Teacher]:
    made = Teacher(target, (1, 2), n_ctx=256, threads=1)
    yield made
    made.close()


def document(length: int, seed: int = 0) -> TokenDocument:
    ids = np.random.default_rng(seed).integers(3, 261, length).tolist()
    return TokenDocument(ids, [True] * length)


def test_the_likeliest_come_first_with_their_log_probabilities() -> None:
    logits = np.random.default_rng(0).standard_normal((3, 100)).astype(np.float32)
    ids, said = likeliest(logits)
    expected = torch.from_numpy(logits).log_softmax(-1).topk(32)
    np.testing.assert_array_equal(ids, expected.indices.numpy())
    np.testing.assert_allclose(said, expected.values.numpy(), atol=5e-3)


def test_predictions_and_states_are_those_of_the_same_model_in_torch(target: Path, teacher: Teacher) -> None:
    lesson = teacher.teach(document(20))
    model = read_gguf(target)
    with torch.no_grad():
        ids = torch.tensor([lesson.ids])
        logits = model.logits(model(ids, torch.arange(20)[None]))[0]
        inputs = layer_inputs(model, lesson.ids)
    expected = logits.softmax(-1).gather(1, torch.from_numpy(lesson.teacher_ids).long())
    np.testing.assert_allclose(np.exp(lesson.teacher_log_probabilities.astype(np.float32)), expected, atol=5e-3)
    np.testing.assert_allclose(lesson.states, torch.cat(inputs[1:3], dim=-1).numpy(), atol=2e-2)


def test_a_long_document_is_read_in_passes(teacher: Teacher, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = teacher.teach(document(60))
    monkeypatch.setattr(teacher_module, "_ROWS", 16)
    again = teacher.teach(TokenDocument([*document(60).ids[:59], 5], [True] * 60))
    np.testing.assert_allclose(whole.teacher_log_probabilities[:59], again.teacher_log_probabilities[:59], atol=1e-2)


def test_torch_may_compute_between_two_documents(target: Path, tmp_path: Path) -> None:
    """Both use the processor's tiles, where it has some, and torch resets them in the thread in which it computes."""
    quantise(target, tmp_path / "quantised.gguf", "Q8_0")
    teacher = Teacher(tmp_path / "quantised.gguf", (1, 2), n_ctx=256, threads=2)
    lessons = []
    for _ in range(2):
        lessons.append(teacher.teach(document(200)))
        torch.ones(256, 256, dtype=torch.bfloat16) @ torch.ones(256, 256, dtype=torch.bfloat16)
    teacher.close()
    np.testing.assert_array_equal(lessons[0].states, lessons[1].states)


def test_what_is_not_learned_has_states_alone(teacher: Teacher, target: Path) -> None:
    ids, whole = document(20).ids, teacher.teach(document(20))
    end = teacher.teach(TokenDocument(ids, [False] * 12 + [True] * 8))
    np.testing.assert_array_equal(end.states, whole.states)
    assert (end.teacher_ids[:11] == -1).all()
    np.testing.assert_array_equal(end.teacher_ids[11:, :8], whole.teacher_ids[11:, :8])
    normed = Teacher(target, (NORMED,), n_ctx=256, threads=1)
    assert normed.teach(TokenDocument(ids, [False] * 12 + [True] * 8)).states.shape == (20, 64)
    normed.close()


def test_a_document_that_is_too_long_is_an_error(teacher: Teacher) -> None:
    with pytest.raises(DecodeError, match="do not fit a context of 256"):
        teacher.teach(document(300))


def recorded(answer: list[int]) -> RecordedTurn:
    """A turn with a prompt of two tokens."""
    best = np.full((len(answer), KEPT), 7, np.int32)
    return RecordedTurn(np.array([9, 9, *answer], np.int32), 2, best, np.zeros_like(best, np.float16))


def test_texts_are_learned_beside_recorded_turns_which_come_last(teacher: Teacher) -> None:
    turn = recorded([*b"one answer"])
    texts = [document(12), document(14, seed=1)]
    both = TeacherOfBoth([turn], lambda *_: texts, teacher, 128)
    assert [*both.lessons[:2]] == texts
    assert both.lessons[2].ids == turn.ids.tolist()
    kept = both.teach(both.lessons[2])
    np.testing.assert_array_equal(kept.teacher_ids[1:11], turn.best)
    np.testing.assert_array_equal(both.teach(texts[0]).teacher_ids, teacher.teach(document(12)).teacher_ids)


def test_a_text_that_repeats_a_recorded_answer_is_left_out(teacher: Teacher) -> None:
    vocabulary, end = teacher.vocabulary, teacher.vocabulary.special["eot"]
    own = [token for letter in "hello there" for token in vocabulary.tokenize(letter, special=False)]
    other = vocabulary.tokenize("hello there", special=False)
    assert own != other
    again = TokenDocument([9, 9, 9, *other, end], [False] * 3 + [True] * (len(other) + 1))
    longer = TokenDocument([*other, *other], [True] * 2 * len(other))
    both = TeacherOfBoth([recorded(own)], lambda *_: [again, longer], teacher, 128)
    assert [len(one.ids) for one in both.lessons] == [len(longer.ids), 2 + len(own)]


def test_packed_lessons_keep_their_rows_in_place(teacher: Teacher) -> None:
    one, other = teacher.teach(document(5)), teacher.teach(document(7, seed=1))
    batch = pack_lessons([[one, other]], 16)
    np.testing.assert_allclose(batch.states[0, 5:12].numpy(), other.states.astype(np.float32))
    np.testing.assert_array_equal(batch.teacher_ids[0, :5].numpy(), one.teacher_ids)
    assert batch.states[0, 12:].abs().sum() == 0


def test_lessons_of_a_turn_and_of_a_text_share_a_batch(teacher: Teacher) -> None:
    turn, text = TeacherOfBoth([recorded([1, 2])], lambda *_: [], teacher, 128).lessons[0], teacher.teach(document(5))
    assert isinstance(turn, Lesson)
    batch = pack_lessons([[turn, text]], 16)
    assert (batch.teacher_ids[0, :4, KEPT:] == -1).all()
    np.testing.assert_array_equal(batch.teacher_ids[0, 4:9].numpy(), text.teacher_ids)


def test_a_step_is_made_of_the_lessons_that_were_drawn(teacher: Teacher) -> None:
    lessons = [teacher.teach(document(30)), teacher.teach(document(9))]
    source = TaughtLessons(lambda *_: lessons, (16, 32), 64)
    batches = source.batches(3, 0.0)
    assert sum(int((batch.documents > 0).sum()) for batch in batches) == 39
    assert not source.finished
    source.stopped = True
    assert source.finished
